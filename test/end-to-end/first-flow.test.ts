import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixtures, krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const run = (...args: string[]) => krmhub(args, { cwd: folder, env: registry.env });
const functionFiles = readdirSync(path.join(fixtures, 'functions'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => path.join(fixtures, 'functions', name));

describe('the first flow', () => {
  it('publishes definitions under the versions of their images', async () => {
    const files = functionFiles.filter((file) => !file.includes('rename-images'));
    const refused = await run('publish', ...files);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the API version v1beta1 is removed');
    const { code, stderr } = await run('publish', ...files, '--allow-breaking');
    expect(code, stderr).toBe(0);
  });

  it('publishes the catalog of the first user story and serves it by a recipe', async () => {
    const published = await run('publish', path.join(fixtures, 'catalogs/example-co.yaml'));
    expect(published.code, published.stderr).toBe(0);
    const applied = await run('catalog', 'apply', path.join(fixtures, 'recipes/example-co.yaml'));
    expect(applied.code, applied.stderr).toBe(0);
    const text = await (await fetch(`${registry.url}/catalogs/example-co/catalog.yaml`)).text();
    expect([...text.matchAll(/kind: (\w+)$/gm)].map((match) => match[1])).toEqual([
      'Catalog',
      'JavaApplication',
      'Logger',
      'SecretSidecar',
    ]);
    const pulled = await run('catalog', 'pull', 'example-co', '--out', 'catalog.yaml');
    expect(pulled.code, pulled.stderr).toBe(0);
    expect(readFileSync(path.join(folder, 'catalog.yaml'), 'utf8')).toBe(text);
  });

  it('removes a yanked release from the next snapshot and keeps the old snapshots', async () => {
    const url = `${registry.url}/catalogs/default`;
    const before = await (await fetch(`${url}/catalog.yaml`)).text();
    const { snapshots } = (await (await fetch(`${url}/snapshots`)).json()) as {
      snapshots: { serial: number }[];
    };
    const serial = snapshots[0]!.serial;
    const yanked = await run(
      'yank',
      'functions.example.com/SetLabels@2.0.0',
      '--reason',
      'drops labels of CronJobs',
    );
    expect(yanked.code, yanked.stderr).toBe(0);
    const newest = async () => (await fetch(`${url}/catalog.yaml`)).text();
    await expect.poll(newest).not.toContain('set-labels:v2.0.0');
    expect(await (await fetch(`${url}/snapshots/${serial}/catalog.yaml`)).text()).toBe(before);
    expect((await run('show', 'functions.example.com/SetLabels@2.0.0')).stdout).toContain(
      'drops labels of CronJobs',
    );
    const back = await run('unyank', 'functions.example.com/SetLabels@2.0.0');
    expect(back.code, back.stderr).toBe(0);
    await expect.poll(newest).toBe(before);
  });
});
