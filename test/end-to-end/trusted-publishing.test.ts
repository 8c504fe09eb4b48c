import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestIssuer } from '../../apps/registry/src/testing/test-issuer.js';
import { untrustedCertificate } from '../../packages/sources/src/testing/certificate.js';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** A workflow of GitHub Enterprise Server publishes: its issuer serves keys over TLS, its jobs ask it for tokens. */
const { folder, remove } = temporaryFolder();
const definition = path.join(fixtures, 'functions/set-labels/1.0.0.yaml');
const servers: { close(): unknown }[] = [];
let github: TestIssuer;
let registry: RunningRegistry;
let url: string;
let settings: Record<string, string>;
/** The credentials with which the IDs of the repository were asked for. */
const asks: (string | undefined)[] = [];
/** What a job has in its environment. */
let job: Record<string, string>;
let claims: Record<string, unknown>;

beforeAll(async () => {
  const certificate = untrustedCertificate(folder);
  const issuerServer = createServer(certificate, async ({ url: asked = '', headers }, response) => {
    const audience = /[?&]audience=([^&]+)/.exec(asked)?.[1];
    if (asked === '/api/v3/repos/example/functions') {
      asks.push(headers.authorization);
      response.end(JSON.stringify({ id: 1, owner: { id: 2 } }));
    } else if (audience === undefined) {
      const bytes = await github
        .fetch(`https://127.0.0.1:${port(issuerServer)}${asked}`)
        .catch(() => undefined);
      response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
    } else if (headers.authorization === 'Bearer of-the-job') {
      const aud = decodeURIComponent(audience);
      response.end(JSON.stringify({ value: await github.sign({ ...claims, aud }, { now: new Date() }) }));
    } else response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  servers.push(issuerServer);
  await once(issuerServer, 'listening');
  const origin = `https://127.0.0.1:${port(issuerServer)}`;
  github = await TestIssuer.create(`${origin}/_services/token`);

  // The registry knows its public URL before its port.
  const front = createPlainServer((incoming, response) => {
    const { method, headers, url: target } = incoming;
    const passed = request(new URL(target ?? '/', registry.url), { method, headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    incoming.pipe(passed.on('error', () => response.writeHead(502).end()));
  }).listen(0, '127.0.0.1');
  servers.push(front);
  await once(front, 'listening');
  url = `http://127.0.0.1:${port(front)}`;
  const ca = path.join(folder, 'cert.pem');
  settings = {
    NODE_EXTRA_CA_CERTS: ca,
    KRMHUB_PUBLIC_URL: url,
    KRMHUB_SOURCE_ADDRESSES: '127.0.0.1',
  };
  registry = await startRegistry(path.join(folder, 'data'), settings);
  job = {
    NODE_EXTRA_CA_CERTS: ca,
    KRMHUB_REGISTRY: url,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${origin}/job?run=1`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
  };
  claims = {
    repository: 'example/functions',
    repository_id: '1',
    repository_owner_id: '2',
    workflow_ref: 'example/functions/.github/workflows/release.yml@refs/tags/v1.0.0',
    ref: 'refs/tags/v1.0.0',
    sha: 'c'.repeat(40),
    event_name: 'push',
    run_id: '5',
  };
});
afterAll(async () => {
  await registry?.stop();
  for (const server of servers) server.close();
  remove();
});

const port = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const addPublisher = () => [
  ...['publisher', 'add', 'functions.example.com', '--issuer', github.issuer],
  ...['--github', 'example/functions', '--workflow', 'release.yml'],
];
const publish = (env: Record<string, string>, ...more: string[]) =>
  krmhub(['publish', definition, ...more], { env, cwd: folder });

it('says what to do where no publisher is known', async () => {
  const { code, stderr } = await publish(job);
  expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('no trusted publisher')]);
  expect(code).not.toBe(0);
  expect(stderr).toContain('krmhub publisher add');
});

it('publishes without a stored secret, and before a stored one', async () => {
  const target = 'functions.example.com';
  const administrator = {
    ...registry.env,
    KRMHUB_REGISTRY: url,
    NODE_EXTRA_CA_CERTS: job.NODE_EXTRA_CA_CERTS!,
  };
  // The credentials are of another host.
  const added = await krmhub(addPublisher(), {
    env: {
      ...administrator,
      GH_TOKEN: 'secret',
      GH_ENTERPRISE_TOKEN: 'secret',
      GH_HOST: 'github.example.com',
    },
  });
  expect(added, added.stderr).toMatchObject({ code: 0 });
  expect(added.stderr).toContain('repositoryId 1, ownerId 2');
  expect(asks).toEqual([undefined]);

  const published = await publish({ ...job, KRMHUB_TOKEN: registry.token });
  expect(published, published.stderr).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('warning'),
  });
  const shown = await krmhub(['show', 'functions.example.com/SetLabels'], { env: { KRMHUB_REGISTRY: url } });
  expect(shown.stdout).toContain(`by example/functions release.yml (GitHub Actions, ${github.issuer})`);
  expect(shown.stdout).toContain(`${'c'.repeat(40)}, refs/tags/v1.0.0`);

  const table = await krmhub(['publisher', 'list', target], { env: administrator });
  expect(table.stdout).toContain(`example/functions release.yml ${github.issuer}`);
  const listed = await krmhub(['publisher', 'list', target, '-o', 'json'], { env: administrator });
  expect(JSON.parse(listed.stdout).publishers[0]).toMatchObject({
    pins: { repositoryId: '1', ownerId: '2' },
    lastUsedAt: expect.any(String),
  });
});

it('pushes and signs a release, and pushes nothing to other repositories, without a stored secret', async () => {
  const text = readFileSync(definition, 'utf8').replaceAll('1.0.0', '1.0.7');
  const file = path.join(folder, 'pushed.yaml');
  writeFileSync(file, text);
  const repository = `${new URL(url).host}/functions/functions.example.com/setlabels`;
  const pushed = await krmhub(['push', file, `${repository}:1.0.7`], { env: job, cwd: folder });
  expect(pushed, pushed.stderr).toMatchObject({ code: 0 });
  const env = { ...job, KRMHUB_KEY_PASSWORD: 'a password' };
  const key = await krmhub(['keygen'], { env, cwd: folder });
  expect(key, key.stderr).toMatchObject({ code: 0 });
  for (const name of [`${repository}:1.0.7`, 'functions.example.com/SetLabels@1.0.7']) {
    const signed = await krmhub(['sign', name, '--key', 'krmhub.key'], { env, cwd: folder });
    expect(signed, signed.stderr).toMatchObject({ code: 0 });
  }
  const elsewhere = await krmhub(['push', file, `${new URL(url).host}/team/x:1.0.7`], {
    env: job,
    cwd: folder,
  });
  expect(elsewhere.code).not.toBe(0);
});

it('copies a release from another repository without a stored secret', async () => {
  const text = readFileSync(definition, 'utf8').replaceAll('1.0.0', '1.0.8');
  const file = path.join(folder, 'copied.yaml');
  writeFileSync(file, text);
  const { host } = new URL(url);
  const env = { ...registry.env, KRMHUB_REGISTRY: url };
  const pushed = await krmhub(['push', file, `${host}/team/x:1.0.8`], { env, cwd: folder });
  expect(pushed, pushed.stderr).toMatchObject({ code: 0 });
  const target = `${host}/functions/functions.example.com/setlabels:1.0.8`;
  const signed = await krmhub(['sign', `${host}/team/x:1.0.8`, '--key', 'krmhub.key'], {
    env: { ...env, KRMHUB_KEY_PASSWORD: 'a password' },
    cwd: folder,
  });
  expect(signed, signed.stderr).toMatchObject({ code: 0 });
  const copied = await krmhub(['copy', `${host}/team/x:1.0.8`, target], { env: job, cwd: folder });
  expect(copied, copied.stderr).toMatchObject({ code: 0 });
});

it('counts each token once, in all processes and after a restart, and removal ends it in all', async () => {
  const sign = () => github.sign({ ...claims, aud: url }, { now: new Date() });
  const exchange = async (token: string) => {
    const headers = { 'Content-Type': 'application/json' };
    return fetch(`${url}/api/v1/oidc/token`, { method: 'POST', headers, body: JSON.stringify({ token }) });
  };
  const token = await sign();
  const tried = await Promise.all([1, 2, 3, 4, 5, 6].map(() => exchange(token)));
  expect(tried.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401, 401, 401]);
  const exchanged = tried.find(({ status }) => status === 201)!;
  const { token: secret } = (await exchanged.json()) as { token: string };
  const whoami = async () =>
    (await fetch(`${url}/api/v1/whoami`, { headers: { Authorization: `Bearer ${secret}` } })).status;
  expect([await whoami(), await whoami()]).toEqual([200, 200]);
  await registry.stop();
  registry = await startRegistry(path.join(folder, 'data'), settings);
  expect([(await exchange(token)).status, (await exchange(token)).status]).toEqual([401, 401]);
  expect((await exchange(await sign())).status).toBe(201);

  const env = { ...registry.env, KRMHUB_REGISTRY: url };
  const listed = await krmhub(['publisher', 'list', '-o', 'json'], { env });
  const [{ id }] = JSON.parse(listed.stdout).publishers;
  expect((await krmhub(['publisher', 'remove', id], { env })).code).toBe(0);
  expect([await whoami(), await whoami()]).toEqual([401, 401]);
  const refused = [await exchange(await sign()), await exchange(await sign())];
  expect(refused.map(({ status }) => status)).toEqual([401, 401]);
  const added = await krmhub(addPublisher(), { env });
  expect(added, added.stderr).toMatchObject({ code: 0 });
});

it('counts each of many tokens once that are sent at the same time, many times each', async () => {
  const headers = { 'Content-Type': 'application/json' };
  const exchange = (token: string) =>
    fetch(`${url}/api/v1/oidc/token`, { method: 'POST', headers, body: JSON.stringify({ token }) });
  const tokens = await Promise.all(
    Array.from({ length: 8 }, () => github.sign({ ...claims, aud: url }, { now: new Date() })),
  );
  const times = 12;
  // Interleaved, so that requests with one token are under way in all processes.
  const sent = Array.from({ length: times * tokens.length }, (_, at) => at % tokens.length);
  const answers = await Promise.all(
    sent.map(async (at) => {
      const response = await exchange(tokens[at]!);
      return { at, status: response.status, body: (await response.json()) as { token?: string } };
    }),
  );
  for (const at of tokens.keys()) {
    const statuses = answers.filter((one) => one.at === at).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, ...Array<number>(times - 1).fill(401)]);
  }
  // Another spelling of the signature is not another token: the last digits of it say nothing.
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const [token] = tokens as [string];
  const last = digits.indexOf(token.at(-1)!);
  for (let more = 1; more < 16; more += 1) {
    const spelled = token.slice(0, -1) + digits[(last & 0b110000) | ((last + more) & 0b1111)];
    expect((await exchange(spelled)).status).toBe(401);
  }
  const secrets = answers.flatMap(({ body }) => body.token ?? []);
  expect(new Set(secrets).size).toBe(tokens.length);
});

it('names the claim that differs, and falls back to a stored token with a warning', async () => {
  claims = { ...claims, event_name: 'pull_request_target' };
  const refused = await publish(job);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('event_name is "pull_request_target"');
  const stored = await publish({ ...job, KRMHUB_TOKEN: registry.token });
  expect([stored.code, stored.stderr]).toEqual([
    0,
    expect.stringContaining('is not a trusted publisher, so the stored token is used'),
  ]);
  // Nobody knows whether it is one.
  const nowhere = { ACTIONS_ID_TOKEN_REQUEST_URL: 'https://127.0.0.1:1/job' };
  const unknown = await publish({ ...job, ...nowhere, KRMHUB_TOKEN: registry.token });
  expect([unknown.code, unknown.stderr]).toEqual([
    0,
    expect.stringContaining('cannot sign in as this workflow, so the stored token is used'),
  ]);

  const file = path.join(folder, 'claims.json');
  writeFileSync(file, JSON.stringify({ iss: github.issuer, ...claims }));
  const env = { ...registry.env, KRMHUB_REGISTRY: url };
  const checked = await krmhub(['publisher', 'check', 'functions.example.com', file], { env });
  expect([checked.code, checked.stdout]).toEqual([1, expect.stringContaining('event_name is')]);
});

it('gives a token to no registry that asks for that of another', async () => {
  const other = createPlainServer((_, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ audience: url }));
  }).listen(0, '127.0.0.1');
  servers.push(other);
  await once(other, 'listening');
  const { code, stderr } = await publish({ ...job, KRMHUB_REGISTRY: `http://127.0.0.1:${port(other)}` });
  expect([code, stderr]).toEqual([2, expect.stringContaining(`says that its URL is ${url}`)]);
});
