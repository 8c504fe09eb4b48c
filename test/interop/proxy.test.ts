import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { gitServer } from '../../packages/sources/src/testing/servers.js';
import { commitFiles } from '../commit-files.js';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { type ForwardProxy, startForwardProxy } from './forward-proxy.js';

/**
 * The command line behind a proxy that is its only way out: krm.example.com is a name that only the proxy
 * knows.
 */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;
let proxy: ForwardProxy;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
  proxy = await startForwardProxy(Number(new URL(registry.url).port));
});
afterAll(async () => {
  proxy.stop();
  await registry.stop();
  remove();
});

const run = (args: string[], env: Record<string, string>) => {
  proxy.seen.length = 0;
  return krmhub(args, { env: { ...registry.env, NO_PROXY: '', no_proxy: '', ...env } });
};

it('publishes and reads through HTTP_PROXY, with the password in its URL', async () => {
  const env = {
    KRMHUB_REGISTRY: 'http://krm.example.com',
    KRMHUB_PLAIN_HTTP: 'krm.example.com',
    HTTP_PROXY: proxy.url,
  };
  const published = await run(['publish', path.join(fixtures, 'functions/set-labels/2.0.0.yaml')], env);
  expect([published.code, published.stderr]).toEqual([0, expect.stringContaining('in default')]);
  expect(proxy.seen.map(({ what }) => what)).toContain('PUT krm.example.com');
  expect(new Set(proxy.seen.map(({ authorization }) => authorization))).toEqual(
    new Set([`Basic ${btoa('someone:secret')}`]),
  );
  const shown = await run(['show', 'functions.example.com/SetLabels'], {
    ...env,
    HTTP_PROXY: '',
    http_proxy: proxy.url,
  });
  expect(shown.stdout).toContain('2.0.0');
});

it('opens a tunnel through HTTPS_PROXY, with TLS inside of it', async () => {
  const env = { KRMHUB_REGISTRY: 'https://krm.example.com', HTTPS_PROXY: proxy.url };
  const { code, stderr } = await run(['search'], env);
  // The server in the tunnel has no TLS here; test/interop/nginx.test.ts has one.
  expect([code, stderr]).toEqual([5, expect.stringContaining('does not use TLS')]);
  expect(proxy.seen).toEqual([
    { what: 'CONNECT krm.example.com:443', authorization: `Basic ${btoa('someone:secret')}` },
  ]);
});

it('reads catalogs through it, over HTTP, git and OCI', async () => {
  const resolve = (catalog: string, env: Record<string, string>) =>
    run(['resolve', 'functions.example.com/v1', 'SetLabels', '-c', catalog], {
      KRMHUB_CACHE: path.join(folder, 'cache'),
      ...env,
    });
  const overHttp = await resolve('http://krm.example.com/catalogs/default', { HTTP_PROXY: proxy.url });
  expect([overHttp.code, overHttp.stdout]).toEqual([0, expect.stringContaining('release\t2.0.0')]);
  expect(proxy.seen).toEqual([
    { what: 'GET krm.example.com', authorization: `Basic ${btoa('someone:secret')}` },
  ]);

  await resolve('oci://krm.example.com/catalogs/any:v1', { HTTPS_PROXY: proxy.url });
  expect(new Set(proxy.seen.map(({ what }) => what))).toEqual(new Set(['CONNECT krm.example.com:443']));

  const repositories = path.join(folder, 'git');
  const text = await (await fetch(`${registry.url}/catalogs/default/catalog.yaml`)).text();
  commitFiles(repositories, 'team', { 'catalog.yaml': text });
  const git = await gitServer(repositories);
  const gitProxy = await startForwardProxy(git.port);
  try {
    const overGit = await resolve('git::http://git.example.com/team.git//catalog.yaml', {
      HTTP_PROXY: gitProxy.url,
    });
    expect([overGit.code, overGit.stderr]).toEqual([0, expect.any(String)]);
    expect(gitProxy.seen.map(({ what }) => what)).toContain('POST git.example.com');
    expect(gitProxy.seen.at(-1)?.authorization).toBe(`Basic ${btoa('someone:secret')}`);
  } finally {
    gitProxy.stop();
    await git.close();
  }
});

it('bypasses it for NO_PROXY, and always for this machine', async () => {
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
  const named = await run(['search'], {
    ...env,
    KRMHUB_REGISTRY: 'http://krm.invalid',
    NO_PROXY: '.invalid',
  });
  expect([named.code, named.stderr]).toEqual([5, expect.stringContaining('cannot reach the registry')]);
  expect((await run(['search'], env)).code).toBe(0);
  expect(proxy.seen).toEqual([]);
});

it('reports the problem of a proxy, without its password', async () => {
  const env = { KRMHUB_REGISTRY: 'http://krm.example.com', ALL_PROXY: 'socks5://someone:secret@127.0.0.1:1' };
  const { code, stderr } = await run(['search'], env);
  expect([code, stderr]).toEqual([2, expect.stringContaining('is not an http or https URL')]);
  expect(stderr).not.toContain('secret');
  const dead = { KRMHUB_REGISTRY: 'http://krm.example.com', HTTP_PROXY: 'http://someone:secret@127.0.0.1:1' };
  const unreachable = await run(['search'], dead);
  expect([unreachable.code, unreachable.stderr]).toEqual([5, expect.stringContaining('connection refused')]);
  expect(unreachable.stderr).not.toContain('secret');
});
