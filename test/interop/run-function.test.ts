import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import {
  DEFAULT_RUN_LIMITS,
  type Engine,
  findEngine,
  findSandbox,
  hasImage,
  installExecutable,
  pullImage,
  runContainer,
  runExecutable,
} from '@krmhub/functions';
import type { Digest } from '@krmhub/schema/digest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  processesWith,
  sampleInput,
  type TestedRuntime,
  testRuntime,
} from '../../packages/functions/src/testing/runtime-contract.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.js';
import { buildGoProgram } from './go-program.js';

const { file: sampleFunction, whyNot: noSample } = buildGoProgram('sample-function');
const noContainers = whyNoContainers() ?? noSample;
const minutes = 60_000;

/** The sample function in an image from scratch, pushed to our registry, and pulled from there by its digest. */
interface PublishedFunction {
  containers: ContainerEngine;
  engine: Engine;
  registry: RunningRegistry;
  host: string;
  /** `HOST/images/sample@sha256:…` */
  image: string;
  /** In the command line of each of its processes. */
  marker: string;
  close(): Promise<void>;
}

async function publishSample(): Promise<PublishedFunction> {
  const containers = await openContainerEngine({ withBase: false });
  const registry = await startRegistry(path.join(containers.folder, 'data'));
  const host = new URL(registry.url).host;
  const marker = `function-${randomUUID()}`;
  const content = path.join(containers.folder, 'content');
  mkdirSync(path.join(content, 'tmp'), { recursive: true });
  chmodSync(path.join(content, 'tmp'), 0o1777);
  copyFileSync(sampleFunction, path.join(content, marker));
  const name = `${host}/images/sample:1.0.0`;
  await containers.makeImage(name, content, ['--entrypoint', JSON.stringify([`/${marker}`])]);
  const digestFile = path.join(containers.folder, 'digest');
  const login = ['--tls-verify=false', '--creds', `anyone:${registry.token}`];
  await containers.podman('push', '--quiet', ...login, '--digestfile', digestFile, name);
  await containers.podman('rmi', '--force', name);
  const image = `${host}/images/sample@${readFileSync(digestFile, 'utf8').trim()}`;
  const engine = await findEngine({ engine: 'podman', env: containers.env });
  return {
    containers,
    engine,
    registry,
    host,
    image,
    marker,
    close: async () => {
      await containers.remove();
      await registry.stop();
    },
  };
}

async function openPodman(): Promise<TestedRuntime> {
  const { containers, engine, image, marker, close } = await publishSample();
  await pullImage(engine, image);
  return {
    run: ({ input, limits, env, network, signal }) =>
      runContainer({ ...engine, image, network, mounts: [], env }, input, limits, signal),
    leftovers: async () => {
      const listed = await containers.podman('ps', '--all', '--quiet');
      return [...(listed === '' ? [] : listed.split('\n')), ...processesWith(marker)];
    },
    endEscaped: () => undefined,
    ownEnvironment: ['PATH', 'TERM', 'container', 'HOME', 'HOSTNAME'],
    // The first process of a container cannot be killed by its own signals.
    holds: { network: true, escapedProcesses: true, files: false, signals: false },
    close,
  };
}

testRuntime('a container of podman', openPodman, noContainers);

const { folder, remove } = temporaryFolder();
afterAll(remove);
const sandbox = await findSandbox({ PATH: process.env.PATH });

async function openProgram(isSandboxed: boolean): Promise<TestedRuntime> {
  const marker = `function-${randomUUID()}`;
  const sha256: Digest = `sha256:${createHash('sha256').update(readFileSync(sampleFunction)).digest('hex')}`;
  const installed = await installExecutable(
    { file: sampleFunction, sha256, bin: marker },
    path.join(folder, `${marker}.d`),
  );
  return {
    run: ({ input, limits, env, network, signal }) => {
      const more = isSandboxed && sandbox.ok ? { sandbox: sandbox.sandbox } : {};
      return runExecutable({ ...installed, cwd: folder, env, network, ...more }, input, limits, signal);
    },
    leftovers: async () => [
      ...processesWith(marker),
      ...readdirSync(path.dirname(installed.file)).filter((name) => name !== marker),
    ],
    endEscaped: () => {
      for (const found of processesWith(marker)) process.kill(Number.parseInt(found, 10), 'SIGKILL');
    },
    ownEnvironment: ['PWD', 'OLDPWD', 'SHLVL', '_'],
    holds: { network: isSandboxed, escapedProcesses: isSandboxed, files: true, signals: false },
    close: async () => undefined,
  };
}

testRuntime('a static program', () => openProgram(false), noSample);
testRuntime(
  'a static program in a sandbox',
  () => openProgram(true),
  noSample ?? (sandbox.ok ? undefined : sandbox.reason),
);

const title = noContainers === undefined ? '' : ` (skipped: ${noContainers})`;
describe.skipIf(noContainers !== undefined)(`a container${title}`, () => {
  let published: PublishedFunction;
  beforeAll(async () => {
    published = await publishSample();
  }, 5 * minutes);
  afterAll(() => published?.close(), 2 * minutes);

  const run = (action: string, config: object = {}, more: { image?: string; mounts?: string[] } = {}) => {
    const { engine, image } = published;
    const container = { ...engine, image, network: false, mounts: [], env: {}, ...more };
    return runContainer(container, sampleInput(action, config), DEFAULT_RUN_LIMITS);
  };
  const message = async (...args: Parameters<typeof run>) => (await run(...args)).results[0]?.message;
  const containersLeft = () => published.containers.podman('ps', '--all', '--quiet');

  it('is pulled by its digest once, with progress', async () => {
    const { engine, image, registry } = published;
    expect(await hasImage(engine, image)).toBe(false);
    const lines: string[] = [];
    await pullImage(engine, image, { onLine: (line) => lines.push(line) });
    expect(lines.join('\n')).toMatch(/Copying blob/);
    expect(await hasImage(engine, image)).toBe(true);
    // Nothing is asked again, so that it also works without the registry.
    const before = await requests(registry);
    await pullImage(engine, image);
    expect(await requests(registry)).toBe(before);
    const result = await run('echo');
    expect(Buffer.from(result.stderr).toString()).toBe('');
  });

  it('runs as nobody, without capabilities and new privileges', async () => {
    const status = await message('identity');
    expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
    expect(status).toMatch(/^Gid:\t65534\t65534\t65534\t65534$/m);
    expect(status).toMatch(/^CapPrm:\t0+$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  it('gets the mounts that it was given, read-only unless they say otherwise', async () => {
    const shared = mkdtempSync(path.join(published.containers.folder, 'shared-'));
    chmodSync(shared, 0o777);
    writeFileSync(path.join(shared, 'note'), 'a note', { mode: 0o666 });
    chmodSync(path.join(shared, 'note'), 0o666);
    const mount = `type=bind,source=${shared},target=/shared`;
    expect(await message('read', { path: '/shared/note' })).toContain('no such file');
    expect(await message('read', { path: '/shared/note' }, { mounts: [mount] })).toBe('a note<nil>');
    expect(await message('write', { path: '/shared/note' }, { mounts: [mount] })).toContain(
      'read-only file system',
    );
    expect(await message('write', { path: '/shared/note' }, { mounts: [`${mount},rw=true`] })).toBe('<nil>');
    expect(readFileSync(path.join(shared, 'note'), 'utf8')).toBe('changed');
    await expect(
      run('echo', {}, { mounts: [`type=bind,source=${shared}/none,target=/shared`] }),
    ).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(await containersLeft()).toBe('');
  });

  it('does not get the proxy of the user', async () => {
    const { engine } = published;
    const proxied = {
      ...engine,
      engineEnv: { ...engine.engineEnv, HTTPS_PROXY: 'http://user:password@127.0.0.1:9' },
    };
    const { image } = published;
    const { output } = await runContainer(
      { ...proxied, image, network: false, mounts: [], env: {} },
      sampleInput('environment'),
      DEFAULT_RUN_LIMITS,
    );
    expect(Buffer.from(output).toString()).not.toMatch(/proxy/i);
  });

  it('does not run without a digest, and not if its registry does not have the digest', async () => {
    const { image, host, engine } = published;
    const tagged = `${host}/images/sample:1.0.0`;
    await expect(run('echo', {}, { image: tagged })).rejects.toMatchObject({
      code: 'untrusted',
      message: `the image ${tagged} is not pinned by digest`,
    });
    const missing = `${image.split('@')[0]}@sha256:${'0'.repeat(64)}`;
    await expect(pullImage(engine, missing)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(run('echo', {}, { image: missing })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await containersLeft()).toBe('');
  });

  it('does not run other content than that of the digest', async () => {
    const { host, image, engine } = published;
    const proxy = createServer(async (request, response) => {
      const answer = await fetch(`http://${host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { accept: request.headers.accept ?? '*/*' },
      });
      const body = Buffer.from(await answer.arrayBuffer());
      const isManifest = request.url!.includes('/manifests/sha256:');
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      // White space changes the digest and nothing else.
      response.end(
        request.method === 'HEAD' ? undefined : isManifest ? Buffer.concat([body, Buffer.from(' ')]) : body,
      );
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    // The engine would find the content under any name.
    await published.containers.podman('rmi', '--force', '--all');
    try {
      const changed = image.replace(host, `127.0.0.1:${(proxy.address() as AddressInfo).port}`);
      await expect(pullImage(engine, changed)).rejects.toMatchObject({ code: 'digest-mismatch' });
    } finally {
      proxy.close();
    }
  });
});

/** Requests for artifacts that a registry has answered. */
async function requests(registry: RunningRegistry): Promise<number> {
  const text = await (
    await fetch(`${registry.url}/metrics`, { headers: { authorization: `Bearer ${registry.token}` } })
  ).text();
  const counts = [...text.matchAll(/^krmhub_http_requests_total\{[^}]*route="\/v2[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}
