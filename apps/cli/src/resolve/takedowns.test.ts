import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTest, type TestIo, type TestRegistry, testRegistry } from '../testing/command-line.js';

const INPUT = `apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig: {apiVersion: example.com/v1alpha1, kind: SetOwner, metadata: {name: o}, owner: platform}
items: []
`;
const HOUR = 3_600_000;

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-takedown-'));
let registry: TestRegistry;
let isOpen = true;
let hours = 0;
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
const exec = (cache?: string) =>
  run(['kpt', 'exec', ...line], { stdin: INPUT, ...(cache !== undefined && { cache }) });
const done = async (...args: string[]) => {
  const io = await run(args);
  expect(io.exitCode, io.err()).toBe(0);
  return io;
};
const close = async () => {
  if (isOpen) await registry.close();
  isOpen = false;
};

beforeAll(async () => {
  registry = await testRegistry();
  await done('init', 'example.com/SetOwner', '--runtime', 'starlark');
  const definition = path.join(folder, 'set-owner/definition.yaml');
  writeFileSync(definition, readFileSync(definition, 'utf8').replaceAll('# CHANGE:', '#'));
  await done('publish', 'set-owner/definition.yaml', '--release', '0.1.0');
  mkdirSync(path.join(folder, 'app'));
  writeFileSync(
    path.join(folder, 'app/Kptfile'),
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - configPath: owner.yaml\n',
  );
  writeFileSync(
    path.join(folder, 'app/owner.yaml'),
    'apiVersion: example.com/v1alpha1\nkind: SetOwner\nmetadata:\n  name: o\nowner: platform\n',
  );
  const catalog = `${registry.url}/catalogs/default`;
  await done('kpt', 'sync', 'app', '-c', catalog);
  await done('plugins', 'install', '-c', catalog, '--dir', 'plugins');
  const [, text = ''] =
    /exec: krmhub kpt exec (\S+)/.exec(readFileSync(path.join(folder, 'app/Kptfile'), 'utf8')) ?? [];
  line = [text];
  expect((await exec()).exitCode).toBe(0);
  expect((await exec('offline')).exitCode).toBe(0);
  await done('takedown', 'example.com/SetOwner@0.1.0', '--reason', 'holds a password', '--yes');
});
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

describe('a script that its registry took down', () => {
  it('is not fetched, and the reason is printed', async () => {
    const io = await exec('empty');
    expect([io.exitCode, io.out()]).toEqual([3, '']);
    expect(io.err()).toContain('holds a password');
  });

  it('runs from the cache for at most an hour', async () => {
    hours = 0;
    expect((await exec()).exitCode).toBe(0);
    hours = 2;
    for (let turn = 0; turn < 2; turn += 1) {
      const io = await exec();
      expect([io.exitCode, io.out()]).toEqual([3, '']);
      expect(io.err()).toMatch(/its script was taken down: .*holds a password/);
    }
    // Once known, it is known without the clock and the registry.
    hours = 0;
    expect((await exec()).exitCode).toBe(3);
  });

  it('is shown by `plugins list` and `kpt sync --check`', async () => {
    hours = 2;
    const list = await run(['plugins', 'list', '--dir', 'plugins']);
    expect([list.exitCode, list.out()]).toEqual([1, expect.stringContaining('\ttaken down\t')]);
    expect(list.err()).toMatch(/SetOwner does not run: .*holds a password/);
    const check = await run(['kpt', 'sync', 'app', '--check', '-c', `${registry.url}/catalogs/default`]);
    expect(check.exitCode).not.toBe(0);
    expect(check.err()).toContain('holds a password');
  });

  it('still runs from the cache of a user whose registry does not answer', async () => {
    await close();
    hours = 4;
    expect((await exec('offline')).exitCode).toBe(0);
  });
});
