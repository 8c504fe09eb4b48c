import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ARTIFACT_MEDIA_TYPES, artifactManifest, MEDIA_TYPES } from '@krmhub/oci';
import { sha256 } from '@krmhub/schema/digest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostPlatform } from '../../run/platform.js';
import { runTest, type TestIo, type TestRegistry, testRegistry } from '../../testing/command-line.js';

const INPUT = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n';
const PROGRAM = '#!/bin/sh\ncat\n';
const HOUR = 3_600_000;
const DIGEST = `sha256:${'a'.repeat(64)}`;

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-takedown-'));
let registry: TestRegistry;
let files: Server;
let isOpen = true;
let hours = 0;
/** Arguments of `kpt exec`, as the Kptfile has them. */
let line: string[];

const run = (args: string[], more: { stdin?: string; cache?: string } = {}): Promise<TestIo> =>
  runTest(args, {
    cwd: folder,
    env: {
      ...registry.env,
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
const exec = () => run(['kpt', 'exec', ...line], { stdin: INPUT });
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
  await done('kpt', 'sync', 'app', '-c', catalog());
  await done('plugins', 'install', '-c', catalog(), '--kind', 'SetOwner', '--allow-exec', '--dir', 'plugins');
  line = (/exec: krmhub kpt exec (.+)/.exec(kptfile())?.[1] ?? '').split(' ');
  expect(kptfile()).toContain(`image: localhost:9/set-team@${DIGEST}`);
  expect((await exec()).exitCode).toBe(0);
  expect((await run(['plugins', 'list', '--dir', 'plugins'])).exitCode).toBe(0);
  for (const kind of ['SetOwner', 'SetTeam']) {
    await done('takedown', `example.com/${kind}@0.1.0`, '--reason', 'holds a miner', '--yes');
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

  it('is shown by `plugins list`', async () => {
    const io = await run(['plugins', 'list', '--dir', 'plugins']);
    expect([io.exitCode, io.out()]).toEqual([1, expect.stringContaining('\ttaken down\t')]);
    expect(io.err()).toMatch(/SetOwner is of a release that was taken down: .*holds a miner/);
  });

  it.each([
    ['which synchronized the package', undefined, 'its release was taken down'],
    ['which did not see the package before', 'empty', 'its function was taken down'],
  ])('is shown by `kpt sync --check` on a machine %s', async (_, cache, message) => {
    const io = await check(cache);
    expect(io.exitCode).toBe(1);
    for (const index of [0, 1]) {
      expect(io.err()).toMatch(
        new RegExp(`Kptfile: pipeline\\.mutators\\[${index}\\]: ${message}: .*holds a miner`),
      );
    }
  });

  it('is shown by `explain`', async () => {
    const io = await explain();
    expect(io.exitCode).toBe(3);
    expect(io.err().match(/its release was taken down: .*holds a miner/g)).toHaveLength(2);
  });

  it('is used offline, and where the registry does not answer', async () => {
    const offline = await run(['explain', 'app', '-c', catalog(), '--offline']);
    expect(offline.err()).not.toContain('holds a miner');
    await registry.close();
    isOpen = false;
    rmSync(path.join(folder, 'cache/takedowns'), { recursive: true });
    expect((await exec()).exitCode).toBe(0);
  });
});
