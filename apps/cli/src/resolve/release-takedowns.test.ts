import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ARTIFACT_MEDIA_TYPES, artifactManifest, MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema/digest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runPlugin } from '../kustomize/plugins/run-plugin.js';
import { hostPlatform } from '../run/platform.js';
import { runTest, type TestIo, type TestRegistry, testIo, testRegistry } from '../testing/command-line.js';

const INPUT = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';
const PROGRAM = '#!/bin/sh\ncat\n';
const HOUR = 3_600_000;
const DIGEST = `sha256:${'a'.repeat(64)}`;

/** A copy of the cache, on a machine without the key of its records, and without a registry. */
function restored(cache: string): Run {
  cpSync(path.join(folder, 'cache'), path.join(folder, cache), { recursive: true });
  return { cache, env: { XDG_CONFIG_HOME: path.join(folder, `configuration of ${cache}`) } };
}

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-takedown-'));
let registry: TestRegistry;
let files: Server;
let isOpen = true;
/** Questions for digests to the server of files. */
let questions = 0;
let hours = 0;
/** Arguments of `kpt exec`, as the Kptfile has them. */
let line: string[];
/** A restored cache of before the takedown. */
let beforeTakedown: Run;

interface Run {
  stdin?: string;
  cache?: string;
  /** Default: the registry. */
  env?: Record<string, string>;
}
const run = (args: string[], more: Run = {}): Promise<TestIo> =>
  runTest(args, {
    cwd: folder,
    env: {
      ...(more.env ?? registry.env),
      KRMHUB_CACHE: path.join(folder, more.cache ?? 'cache'),
      PATH: process.env.PATH ?? '',
    },
    now: () => new Date(Date.now() + hours * HOUR),
    ...(more.stdin === undefined ? {} : { stdin: more.stdin }),
  });
const done = async (...args: string[]) => {
  const io = await run(args);
  expect(io.exitCode, io.err()).toBe(0);
};
const exec = (more: Run = {}) => run(['kpt', 'exec', ...line], { stdin: INPUT, ...more });
const render = (more: Run = {}) => run(['fn', 'render', 'images'], more);
/** Runs an installed plugin as kustomize does. */
async function plugin(kind: string): Promise<TestIo & { error?: unknown }> {
  const cache = path.join(folder, 'cache');
  const env = { ...registry.env, KRMHUB_CACHE: cache, PATH: process.env.PATH ?? '' };
  const io = testIo({
    cwd: folder,
    env,
    now: () => new Date(Date.now() + hours * HOUR),
    stdin: 'items: []\n',
  });
  const file = path.join(folder, 'plugins/example.com/v1', kind.toLowerCase(), kind);
  const error = await runPlugin(io, [file, path.join(folder, `app/${kind}.yaml`)]).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return Object.assign(io, { error });
}
const catalog = () => `${registry.url}/catalogs/default`;
const check = (cache?: string) =>
  run(['kpt', 'sync', 'app', '--check', '-c', catalog()], cache === undefined ? {} : { cache });
const explain = () => run(['explain', 'app', '-c', catalog()]);
const kptfile = () => readFileSync(path.join(folder, 'app/Kptfile'), 'utf8');

function definition(kind: string, runtime: object): string {
  const version = {
    name: 'v1',
    idempotent: true,
    license: 'Apache-2.0',
    usage: 'https://example.com/README.md',
    examples: ['https://example.com/example.yaml'],
    schema: { openAPIV3Schema: { type: 'object', properties: { owner: { type: 'string' } } } },
    runtime,
  };
  const spec = {
    group: 'example.com',
    names: { kind },
    description: 'Sets.',
    publisher: 'me',
    versions: [version],
  };
  return JSON.stringify({ apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'KRMFunctionDefinition', spec });
}

beforeAll(async () => {
  registry = await testRegistry();
  const layer = { title: 'fn', mediaType: ARTIFACT_MEDIA_TYPES.exec.layer, digest: sha256(PROGRAM) };
  const manifest = artifactManifest({ type: 'exec', files: [{ ...layer, size: PROGRAM.length }] });
  files = createServer(({ url = '' }, response) => {
    if (url.startsWith('/api/v1/revocations?')) questions += 1;
    if (url.includes('/manifests/')) response.setHeader('Content-Type', MEDIA_TYPES.image).end(manifest);
    else response.end(PROGRAM);
  });
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
  const [os, arch] = hostPlatform().split('/');
  const digest = sha256(manifest);
  const uri = `oci://127.0.0.1:${(files.address() as AddressInfo).port}/team/fn@${digest}`;
  const platform = { os, arch, bin: 'fn', uri, sha256: digest.slice('sha256:'.length) };
  const image = { image: 'localhost:9/set-team:1', sha256: 'a'.repeat(64) };
  mkdirSync(path.join(folder, 'app'));
  for (const [kind, runtime] of [
    ['SetOwner', { exec: { platforms: [platform] } }],
    ['SetTeam', { container: image }],
  ] as const) {
    writeFileSync(path.join(folder, `${kind}.yaml`), definition(kind, runtime));
    writeFileSync(
      path.join(folder, `app/${kind}.yaml`),
      `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: {name: ${kind.toLowerCase()}}\nowner: me\n`,
    );
    await done('publish', `${kind}.yaml`, '--release', '0.1.0');
  }
  writeFileSync(
    path.join(folder, 'app/Kptfile'),
    `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline:\n  mutators:\n    - configPath: SetOwner.yaml\n    - configPath: SetTeam.yaml\n`,
  );
  mkdirSync(path.join(folder, 'images'));
  writeFileSync(
    path.join(folder, 'images/Kptfile'),
    `apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: images, annotations: {krmhub.dev/catalogs: ${catalog()}}}\npipeline:\n  mutators:\n    - image: localhost:9/set-team@${DIGEST}\n`,
  );
  await done('kpt', 'sync', 'app', '-c', catalog());
  await done('plugins', 'install', '-c', catalog(), '--kind', 'SetOwner', '--allow-exec', '--dir', 'plugins');
  line = (/exec: krmhub kpt exec (.+)/.exec(kptfile())?.[1] ?? '').split(' ');
  expect(kptfile()).toContain(`image: localhost:9/set-team@${DIGEST}`);
  expect((await exec()).exitCode).toBe(0);
  expect((await run(['plugins', 'list', '--dir', 'plugins'])).exitCode).toBe(0);
  // As if there was an engine with the image.
  const place = (kind: string) => path.join(folder, 'plugins/example.com/v1', kind.toLowerCase(), kind);
  const record = JSON.parse(readFileSync(`${place('SetOwner')}.krmhub.json`, 'utf8'));
  const runtime = {
    type: 'container',
    image: `localhost:9/set-team@${DIGEST}`,
    network: false,
    storage: false,
  };
  const { executable: _, ...pin } = record.pins[0];
  mkdirSync(path.dirname(place('SetTeam')), { recursive: true });
  writeFileSync(place('SetTeam'), 'a plugin');
  writeFileSync(
    `${place('SetTeam')}.krmhub.json`,
    JSON.stringify({
      ...record,
      function: { ...record.function, kind: 'SetTeam' },
      plugin: sha256('a plugin'),
      pins: [{ ...pin, runtime }],
    }),
  );
  beforeTakedown = restored('restored before');
  for (const kind of ['SetOwner', 'SetTeam']) {
    await done(
      'takedown',
      `example.com/${kind}@0.1.0`,
      '--reason',
      'holds a miner',
      '--refuse-runtimes',
      '--yes',
    );
  }
});
afterAll(async () => {
  files.close();
  if (isOpen) await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('an image or executable of a release that its registry took down', () => {
  it('is not run by `kpt exec` after an hour', async () => {
    expect((await exec()).exitCode).toBe(0);
    hours = 2;
    const io = await exec();
    expect([io.exitCode, io.out()]).toEqual([3, '']);
    expect(io.err()).toMatch(/its release was taken down: .*holds a miner/);
  });

  it('is not run by `kpt exec` on a machine that did not see it before', async () => {
    const io = await exec({ cache: 'empty-exec' });
    expect([io.exitCode, io.out()]).toEqual([3, '']);
    expect(io.err()).toMatch(/its release was taken down: example\.com\/SetOwner@0\.1\.0 .*holds a miner/);
  });

  it('is run by a machine that knows no registry, and refused by one that knows it', async () => {
    expect((await exec({ cache: 'none', env: {} })).exitCode).toBe(0);
    // Which `kpt sync` records, or which every command uses.
    expect((await exec({ env: {} })).exitCode).toBe(3);
    const env = { KRMHUB_OFFICIAL_CATALOG: catalog() };
    expect((await exec({ cache: 'official', env })).exitCode).toBe(3);
    const trust = path.join(folder, 'trust.yaml');
    const head = { apiVersion: 'krmhub.dev/v1alpha1', kind: 'CatalogTrust', metadata: { name: 'team' } };
    writeFileSync(trust, JSON.stringify({ ...head, spec: { catalogs: [catalog()] } }));
    expect((await exec({ cache: 'trust', env: { KRMHUB_TRUST: trust } })).exitCode).toBe(3);
  });

  it('is refused where a restored cache names its registry, also if it says that there is no takedown', async () => {
    // It was asked a moment ago, before the takedown.
    hours = 0;
    expect((await exec(beforeTakedown)).err()).toMatch(/its release was taken down: .*holds a miner/);
    hours = 2;
  });

  it('is refused also if the package names many catalogs of other registries', async () => {
    const others = Array.from({ length: 12 }, (_, at) => `http://127.0.0.1:${at + 1}/catalogs/default`);
    const kptfile = path.join(folder, 'images/Kptfile');
    const before = readFileSync(kptfile, 'utf8');
    writeFileSync(kptfile, before.replace(catalog(), JSON.stringify(others.join('\n'))));
    const io = await render({ cache: 'crowded', env: { KRMHUB_REGISTRY: registry.url } });
    writeFileSync(kptfile, before);
    expect(io.err()).toMatch(/its release was taken down: .*holds a miner/);
  });

  it('is asked for once an hour, also if the registry does not know the question', async () => {
    const more = {
      cache: 'unknown',
      env: { KRMHUB_REGISTRY: `http://127.0.0.1:${(files.address() as AddressInfo).port}` },
    };
    for (const [hour, expected] of [
      [2, 1],
      [2.9, 1],
      [3.1, 2],
    ] as const) {
      hours = hour;
      expect((await exec(more)).exitCode).toBe(0);
      expect(questions).toBe(expected);
    }
    hours = 2;
  });

  it.each(['SetOwner', 'SetTeam'])('is not run by the installed plugin %s', async (kind) => {
    expect((await plugin(kind)).error).toMatchObject({
      code: 'gone',
      message: expect.stringMatching(/its release was taken down: .*holds a miner/),
    });
  });

  it('is not run by `fn render` and `fn eval`, which ask the registry of the catalogs', async () => {
    for (const io of [
      await render({ cache: 'empty-render', env: {} }),
      await run(['fn', 'eval', 'images', '--image', `localhost:9/set-team@${DIGEST}`], {
        cache: 'empty-eval',
      }),
    ]) {
      expect(io.exitCode).toBe(3);
      expect(io.err()).toMatch(/its release was taken down: example\.com\/SetTeam@0\.1\.0 .*holds a miner/);
    }
  });

  it('is shown by `plugins list`', async () => {
    const io = await run(['plugins', 'list', '--dir', 'plugins']);
    expect([io.exitCode, io.out().match(/\ttaken down\t/g)]).toEqual([
      1,
      ['\ttaken down\t', '\ttaken down\t'],
    ]);
    for (const kind of ['SetOwner', 'SetTeam'])
      expect(io.err()).toMatch(new RegExp(`${kind} does not run: .*holds a miner`));
  });

  it.each([
    ['which synchronized the package', 'cache'],
    ['which did not see the package before', 'empty'],
  ])('is shown by `kpt sync --check` on a machine %s', async (_, cache) => {
    const io = await check(cache);
    expect(io.exitCode).toBe(1);
    for (const index of [0, 1]) {
      expect(io.err()).toMatch(
        new RegExp(`Kptfile: pipeline\\.mutators\\[${index}\\]: its release was taken down: .*holds a miner`),
      );
    }
  });

  it('is shown by `explain`', async () => {
    const io = await explain();
    expect(io.exitCode).toBe(3);
    expect(io.err().match(/its release was taken down: .*holds a miner/g)).toHaveLength(2);
  });

  it('is used offline, and with a frozen lock', async () => {
    const offline = await run(['explain', 'app', '-c', catalog(), '--offline']);
    expect(offline.err()).not.toContain('holds a miner');
    for (const option of ['--offline', '--frozen']) {
      for (const command of [['render'], ['eval', '--image', `localhost:9/set-team@${DIGEST}`]]) {
        const [name, ...more] = command as [string, ...string[]];
        expect((await run(['fn', name, 'images', ...more, option])).err()).not.toContain('holds a miner');
      }
    }
  });

  it('runs again if an administrator allows it, not if another release has it, and its list names the release only', async () => {
    const again = definition(
      'SetOwner',
      JSON.parse(readFileSync(path.join(folder, 'SetOwner.yaml'), 'utf8')).spec.versions[0].runtime,
    );
    writeFileSync(path.join(folder, 'again.yaml'), again.replace('Sets.', 'Sets it again.'));
    await done('publish', 'again.yaml', '--release', '0.2.0');
    expect((await exec()).exitCode).toBe(3);
    hours = 4;
    expect((await exec()).exitCode).toBe(3);
    await done('takedown', 'example.com/SetOwner@0.1.0', '--reason', 'checked', '--allow-runtimes', '--yes');
    hours = 5.5;
    expect((await exec()).exitCode).toBe(0);
    expect((await plugin('SetOwner')).error).toBeUndefined();
    const list = await run(['plugins', 'list', '--dir', 'plugins']);
    expect(list.err()).toMatch(/SetOwner is of a release that was taken down: .*holds a miner/);
    await done(
      'takedown',
      'example.com/SetOwner@0.2.0',
      '--reason',
      'holds a miner again',
      '--refuse-runtimes',
      '--yes',
    );
    hours = 7;
    expect((await exec()).err()).toContain('holds a miner');
  });

  it('stays refused if the registry does not answer, and runs on a machine that did not ask before', async () => {
    await registry.close();
    isOpen = false;
    hours = 9;
    expect((await exec()).exitCode).toBe(3);
    const more = restored('restored late');
    for (const hour of [9, 9.5, 11]) {
      hours = hour;
      expect((await exec(more)).err()).toMatch(/its release was taken down: .*holds a miner/);
    }
    rmSync(path.join(folder, 'cache/takedowns'), { recursive: true });
    expect((await exec()).exitCode).toBe(0);
  });
});
