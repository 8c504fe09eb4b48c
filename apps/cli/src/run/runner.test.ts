import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PinnedRuntime } from '@krmhub/catalog';
import { findSandbox } from '@krmhub/functions';
import { ARTIFACT_MEDIA_TYPES, artifactManifest, computeDigest, MEDIA_TYPES } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import type { RunPermissions } from './permissions.js';
import { hostPlatform } from './platform.js';
import type { RunnerOptions } from './prepared-function.js';
import { Runner } from './runner.js';

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-runner-'));
const served = new Map<string, { body: Uint8Array; type?: string } | { location: string }>();
let server: Server;
let origin: string;
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url!);
    const file = served.get(request.url!);
    if (file === undefined) response.writeHead(404).end();
    else if ('location' in file) response.writeHead(302, { Location: file.location }).end();
    else response.writeHead(200, { 'Content-Type': file.type ?? 'application/octet-stream' }).end(file.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(root, { recursive: true, force: true });
});

const sandbox = await findSandbox({ PATH: process.env.PATH });
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(root, 'test-'));
  mkdirSync(path.join(cwd, 'tmp'));
  served.clear();
  asked = [];
});

const INPUT = Buffer.from('apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n');
/** Says where and with what it runs, and echoes its input. */
const SCRIPT = Buffer.from('#!/bin/sh\necho "in $PWD" >&2\nenv >&2\nexec cat\n');
const EXEC: RunPermissions = { allowExec: true, network: false, mounts: [] };

function open(permissions: RunPermissions = EXEC, options: RunnerOptions = {}) {
  const io = testIo({
    cwd,
    env: {
      KRMHUB_CACHE: path.join(cwd, 'cache'),
      TMPDIR: path.join(cwd, 'tmp'),
      // Without bubblewrap and engines.
      PATH: '/usr/bin:/bin',
      KRMHUB_TOKEN: 'a secret',
    },
  });
  return new Runner(io, permissions, options);
}

function executable(uri: string, digest: Digest, platform = hostPlatform()): PinnedRuntime {
  const [os, arch] = platform.split('/') as ['linux', 'amd64'];
  return { type: 'exec', platforms: [{ os, arch, bin: 'bin/fn', uri, sha256: digest }] };
}

function serve(name: string, body: Uint8Array): PinnedRuntime {
  served.set(name, { body });
  return executable(origin + name, sha256(body));
}

const named = (runtime: PinnedRuntime, more: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Logger',
  runtime,
  ...more,
});
const failure = async (work: Promise<unknown>): Promise<KrmhubError> => {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (error instanceof KrmhubError) return error;
  throw error ?? new Error('it did not fail');
};
const left = () => readdirSync(path.join(cwd, 'tmp'));

describe('an executable', () => {
  it('is fetched once, and runs without the secrets of the user', async () => {
    const runtime = serve('/fn', SCRIPT);
    const runner = open();
    const prepared = await runner.entry(named(runtime));
    const { output, stderr, exitCode } = await prepared.run(INPUT, { folder: root });
    expect([exitCode, Buffer.from(output).toString()]).toEqual([0, INPUT.toString()]);
    expect(Buffer.from(stderr).toString()).toMatch(new RegExp(`in ${root}\\n`));
    expect(Buffer.from(stderr).toString()).not.toContain('a secret');
    const annotation = prepared.annotation();
    expect('exec' in annotation && readFileSync(annotation.exec.path).equals(SCRIPT)).toBe(true);
    await runner.close();
    expect(left()).toEqual([]);
    const offline = open(EXEC, { offline: true });
    expect((await (await offline.entry(named(runtime))).run(INPUT)).exitCode).toBe(0);
    await offline.close();
    expect(asked).toEqual(['/fn']);
  });

  it.skipIf(!sandbox.ok)('sees no secrets in a sandbox, also in its working folder', async () => {
    const places = [
      'temporary/key',
      'data/admin.token',
      'cache/key',
      'kube/config',
      'kube/other',
      'plain/file',
    ];
    for (const place of places) {
      mkdirSync(path.join(cwd, path.dirname(place)), { recursive: true });
      writeFileSync(path.join(cwd, place), `${place}\n`);
    }
    mkdirSync(path.join(cwd, 'cache/bin'));
    writeFileSync(path.join(cwd, 'cache/bin/tool'), '#!/bin/sh\necho tool\n', { mode: 0o755 });
    const env = {
      KRMHUB_CACHE: path.join(cwd, 'cache'),
      TMPDIR: path.join(cwd, 'temporary'),
      KRMHUB_DATA: 'data',
      KUBECONFIG: ['kube/config', 'kube/missing', path.join(cwd, 'kube/other')].join(path.delimiter),
      // Common values for no file.
      NETRC: '/dev/null',
      AWS_CONFIG_FILE: '/dev/stdin',
      PATH: `${path.join(cwd, 'cache/bin')}:${process.env.PATH}`,
    };
    const runner = new Runner(testIo({ cwd, env }), EXEC);
    const script = Buffer.from(
      `#!/bin/sh\ncat >/dev/null || exit 2\n(cat ${places.join(' ')} 2>/dev/null; cat kube/config && tool) >&2\nexit 1\n`,
    );
    const prepared = await runner.entry(named(serve('/list', script)));
    const { stderr } = await prepared.run(INPUT, { folder: cwd });
    await runner.close();
    expect(Buffer.from(stderr).toString()).toBe('plain/file\ntool\n');
  });

  it('is taken out of its archive', async () => {
    mkdirSync(path.join(cwd, 'bin'));
    writeFileSync(path.join(cwd, 'bin/fn'), SCRIPT, { mode: 0o755 });
    execFileSync('tar', ['-czf', 'fn.tar.gz', 'bin/fn'], { cwd });
    const runner = open();
    const prepared = await runner.entry(
      named(serve('/fn.tar.gz', readFileSync(path.join(cwd, 'fn.tar.gz')))),
    );
    expect((await prepared.run(INPUT)).exitCode).toBe(0);
    expect(prepared.executable).toEqual({ digest: sha256(SCRIPT), bin: 'fn', platform: hostPlatform() });
    await runner.close();
  });

  it('is refused without permission, before anything is fetched', async () => {
    const runner = open({ ...EXEC, allowExec: false });
    const error = await failure(runner.entry(named(serve('/fn', SCRIPT))));
    expect(error).toMatchObject({ code: 'untrusted', hint: expect.stringContaining('--allow-exec') });
    expect(asked).toEqual([]);
  });

  it('is refused with other bytes, and not stored', async () => {
    const runtime = serve('/fn', SCRIPT);
    served.set('/fn', { body: Buffer.from('#!/bin/sh\ntouch hacked\n') });
    const runner = open();
    const error = await failure(runner.entry(named(runtime)));
    expect(error.code).toBe('digest-mismatch');
    expect(error.message).toContain(
      `cannot run example.com/v1 Logger: ${origin}/fn does not match the digest in its catalog`,
    );
    await runner.close();
    expect(existsSync(path.join(cwd, 'hacked'))).toBe(false);
    expect(left()).toEqual([]);
    const blobs = path.join(cwd, 'cache/blobs/sha256');
    expect(existsSync(blobs) ? readdirSync(blobs) : []).toEqual([]);
  });

  it('is fetched again if the cache was changed', async () => {
    const runtime = serve('/fn', SCRIPT);
    const first = open();
    await first.entry(named(runtime));
    await first.close();
    const blob = path.join(cwd, 'cache/blobs/sha256', sha256(SCRIPT).slice('sha256:'.length));
    writeFileSync(blob, '#!/bin/sh\ntouch hacked\n');
    const second = open();
    expect((await (await second.entry(named(runtime))).run(INPUT)).exitCode).toBe(0);
    await second.close();
    expect(asked).toEqual(['/fn', '/fn']);
  });

  it('names the platforms that there are', async () => {
    const runtime = executable(`${origin}/fn`, sha256(SCRIPT), 'darwin/arm64');
    const error = await failure(open().entry(named(runtime)));
    expect(error).toMatchObject({
      code: 'unsupported',
      hint: expect.stringContaining('--runtime container'),
    });
    expect(error.message).toBe(
      `cannot run example.com/v1 Logger: it has no executable for ${hostPlatform()}, only for darwin/arm64`,
    );
  });

  it('may be the file of an OCI artifact, verified by the digest of its manifest', async () => {
    const layer = { digest: computeDigest(SCRIPT), size: SCRIPT.length };
    const files = [{ title: 'fn', mediaType: ARTIFACT_MEDIA_TYPES.exec.layer, ...layer }];
    const manifest = artifactManifest({ type: 'exec', files });
    const digest = sha256(manifest);
    served.set(`/v2/team/fn/manifests/${digest}`, { body: manifest, type: MEDIA_TYPES.image });
    served.set(`/v2/team/fn/blobs/${layer.digest}`, { body: SCRIPT });
    const runtime = executable(`oci://${new URL(origin).host}/team/fn@${digest}`, digest);
    const runner = open();
    expect((await (await runner.entry(named(runtime))).run(INPUT)).exitCode).toBe(0);
    await runner.close();
    const before = asked.length;
    const offline = open(EXEC, { offline: true });
    expect((await (await offline.entry(named(runtime))).run(INPUT)).exitCode).toBe(0);
    await offline.close();
    expect(asked).toHaveLength(before);
  });

  it('may be a file of the folder of a catalog on this machine, and of no other', async () => {
    mkdirSync(path.join(cwd, 'team'));
    writeFileSync(path.join(cwd, 'team/fn.sh'), SCRIPT);
    const runtime = executable('file:fn.sh', sha256(SCRIPT));
    const of = (reference: string) => named(runtime, { catalog: { reference, trustedBy: '--catalog' } });
    const runner = open();
    const error = await failure(runner.entry(of('https://krm.example.com/catalogs/default')));
    expect(error.message).toContain('a catalog from another machine refers to the file fn.sh');
    expect((await (await runner.entry(of('team/catalog.yaml'))).run(INPUT)).exitCode).toBe(0);
    await runner.close();
  });

  it.each<[string, () => PinnedRuntime, string, boolean?]>([
    ['a missing file', () => executable(`${origin}/none`, sha256('')), 'responded with 404'],
    ['a redirect in a loop', () => executable(`${origin}/loop`, sha256('')), 'more than 3 redirects'],
    ['an unknown scheme', () => executable('ftp://example.com/fn', sha256('')), 'is not supported'],
    [
      'a file that is not a program',
      () => serve('/text', Buffer.from('hello')),
      'neither a program nor an archive',
    ],
    ['an offline run', () => executable(`${origin}/fn`, sha256('x')), 'is not in the cache', true],
  ])('is refused for %s', async (_, runtime, message, offline = false) => {
    served.set('/loop', { location: '/loop' });
    const runner = open(EXEC, { offline });
    expect((await failure(runner.entry(named(runtime())))).message).toContain(message);
    await runner.close();
    expect(left()).toEqual([]);
  });

  it('runs from the store of plugins, unless it was changed there', async () => {
    const runtime = serve('/fn', SCRIPT);
    const runner = open();
    const prepared = await runner.entry(named(runtime));
    await prepared.store();
    await runner.close();
    rmSync(path.join(cwd, 'cache/blobs'), { recursive: true });
    const { executable } = prepared;
    const later = open(EXEC, { offline: true });
    const stored = await later.entry(named(runtime, { executable }));
    expect((await stored.run(INPUT)).exitCode).toBe(0);
    const annotation = stored.annotation();
    const file = 'exec' in annotation ? annotation.exec.path : '';
    chmodSync(file, 0o700);
    writeFileSync(file, '#!/bin/sh\ntouch hacked\n');
    expect((await failure(stored.run(INPUT, { folder: cwd }))).code).toBe('digest-mismatch');
    expect(existsSync(path.join(cwd, 'hacked'))).toBe(false);
    await later.close();
  });
});

describe('a container', () => {
  const image = `registry.example.com/fn@sha256:${'a'.repeat(64)}`;
  const container = (network: boolean, storage: boolean): PinnedRuntime => ({
    type: 'container',
    image,
    network,
    storage,
  });
  const mount = 'type=bind,source=/charts,target=/charts';

  it.each([
    ['the network', container(true, false), {}, 'network access', '--network'],
    ['mounts', container(false, true), { network: true }, 'mounts', '--mount type=bind'],
    ['both', container(true, true), {}, 'network access and mounts', '--network --mount'],
  ])('that needs %s is refused until the user allows it', async (_, runtime, allowed, what, flag) => {
    const runner = open({ ...EXEC, ...allowed });
    const error = await failure(runner.entry(named(runtime)));
    expect(error).toMatchObject({ code: 'untrusted', hint: expect.stringContaining(flag) });
    expect(error.message).toBe(
      `cannot run example.com/v1 Logger: it requires ${what}, and you did not allow it`,
    );
  });

  describe('with an engine that records its arguments', () => {
    const engine = () => {
      const program = path.join(cwd, 'docker');
      writeFileSync(
        program,
        `#!/bin/sh\necho "$@" >> ${cwd}/asked\n[ "$1" = run ] && exec cat\n[ "$1 $2" = "image inspect" ] && exit 1\nexit 0\n`,
        { mode: 0o755 },
      );
      return { engine: 'docker' as const, program };
    };
    const arguments_ = () => readFileSync(path.join(cwd, 'asked'), 'utf8').trim().split('\n');

    it('gets what is declared and allowed, and says what is not declared', async () => {
      const runner = open({ ...EXEC, network: true, mounts: [mount] }, { tools: { engine: engine() } });
      const all = await runner.entry(named(container(true, true)));
      expect(all.notes).toEqual([]);
      expect(all.annotation()).toEqual({ container: { image, network: true } });
      await all.run(INPUT);
      const none = await runner.entry(named(container(false, false)));
      expect(none.annotation()).toEqual({ container: { image } });
      expect(none.notes).toEqual([
        expect.stringContaining('does not have requireNetwork'),
        expect.stringContaining('does not have requireStorageMount'),
      ]);
      await none.run(INPUT);
      const [first, second] = arguments_();
      expect(first).toContain('--network host');
      expect(first).toContain('--mount type=bind,source=/charts,target=/charts,readonly');
      expect(first).toContain('LOG_TO_STDERR=true');
      expect(second).toContain('--network none');
      expect(second).not.toContain('--mount');
    });

    it('is pulled before it runs', async () => {
      const { program } = engine();
      const io = testIo({ cwd, env: { PATH: `${cwd}:/usr/bin:/bin` } });
      const runner = new Runner(io, EXEC);
      const prepared = await runner.entry(named(container(false, false)));
      expect(prepared.tools).toEqual({ engine: { engine: 'docker', program } });
      expect(arguments_().map((line) => line.split(' ')[0])).toEqual(['version', 'image', 'pull']);
      expect(arguments_().at(-1)).toContain(image);
      const offline = new Runner(io, EXEC, { offline: true });
      expect((await failure(offline.entry(named(container(false, false))))).message).toContain(
        `docker does not have the image ${image}`,
      );
    });
  });

  it('needs an engine', async () => {
    const io = testIo({ cwd, env: { PATH: cwd } });
    const runner = new Runner(io, EXEC);
    expect((await failure(runner.entry(named(container(false, false))))).code).toBe('unavailable');
  });
});

describe('a Starlark script', () => {
  const SOURCE = Buffer.from('print("ran")\nctx.resource_list["items"].append({"kind": "A"})\n');
  const script = (uri: string, digest: Digest): PinnedRuntime => ({
    type: 'starlark',
    reference: uri,
    sha256: digest,
  });

  it('is fetched once, verified, and runs without permissions', async () => {
    served.set('/fn.star', { body: SOURCE });
    const runtime = script(`${origin}/fn.star`, sha256(SOURCE));
    const runner = open({ ...EXEC, allowExec: false });
    const prepared = await runner.entry(named(runtime));
    const { output, stderr, exitCode } = await prepared.run(INPUT);
    expect([exitCode, Buffer.from(stderr).toString()]).toEqual([0, 'ran\n']);
    expect(Buffer.from(output).toString()).toBe(INPUT.toString().replace('items: []', 'items: [{kind: A}]'));
    await runner.close();
    const offline = open(EXEC, { offline: true });
    expect((await (await offline.entry(named(runtime))).run(INPUT)).exitCode).toBe(0);
    await offline.close();
    expect(asked).toEqual(['/fn.star']);
  });

  it('is refused with other bytes, and not stored', async () => {
    served.set('/fn.star', { body: Buffer.from('print("evil")\n') });
    const runner = open();
    const error = await failure(runner.entry(named(script(`${origin}/fn.star`, sha256(SOURCE)))));
    expect([error.code, error.message]).toEqual([
      'digest-mismatch',
      expect.stringContaining('does not match the digest in its catalog'),
    ]);
    await runner.close();
    const blobs = path.join(cwd, 'cache/blobs/sha256');
    expect(existsSync(blobs) ? readdirSync(blobs) : []).toEqual([]);
  });

  it('is fetched from an OCI artifact of its own type only', async () => {
    const digest = computeDigest(SOURCE);
    const layer = (type: 'starlark' | 'exec') => ({
      title: 'fn.star',
      mediaType: ARTIFACT_MEDIA_TYPES[type].layer,
      digest,
      size: SOURCE.byteLength,
    });
    const references = (['starlark', 'exec'] as const).map((type) => {
      const manifest = artifactManifest({ type, files: [layer(type)], annotations: {} });
      const named = computeDigest(manifest);
      served.set(`/v2/team/${type}/manifests/${named}`, { body: manifest, type: MEDIA_TYPES.image });
      served.set(`/v2/team/${type}/blobs/${digest}`, { body: SOURCE });
      return [`oci://${new URL(origin).host}/team/${type}@${named}`, named as Digest] as const;
    });
    const runner = open();
    const [good, bad] = references;
    const prepared = await runner.entry(named(script(...good!)));
    expect((await prepared.run(INPUT)).exitCode).toBe(0);
    const error = await failure(runner.entry(named(script(...bad!))));
    expect(error.message).toContain('is not a Starlark script: it is an artifact of the type exec');
    await runner.close();
    const offline = open(EXEC, { offline: true });
    expect((await (await offline.entry(named(script(...good!)))).run(INPUT)).exitCode).toBe(0);
    await offline.close();
  });
});

it('does not run what a configuration names itself', async () => {
  const runner = open();
  const inline = await failure(
    runner.entry({
      apiVersion: 'v1',
      kind: 'A',
      runtime: { type: 'exec', path: './fn', args: [], envs: [] },
    }),
  );
  expect(inline.code).toBe('unsupported');
});
