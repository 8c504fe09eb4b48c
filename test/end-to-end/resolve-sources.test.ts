import { rmSync } from 'node:fs';
import path from 'node:path';
import { sha256 } from '@krmhub/schema';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catalogText } from '../../apps/cli/src/testing/catalog-build.js';
import { TestRepositories } from '../../packages/sources/src/testing/repositories.js';
import { krmhub, type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';

/** `krmhub resolve` with catalogs in git and in an OCI registry, as processes. */

const GROUP = 'functions.example.com';
const repositories = new TestRepositories();
const { folder, remove } = temporaryFolder();
const cache = path.join(folder, 'cache');
let registry: RunningRegistry;
let host: string;

beforeAll(async () => {
  await repositories.start();
  repositories.write('team/catalog.yaml', catalogText(GROUP, ['SetLabels']));
  repositories.commit('a catalog');
  repositories.git('tag', 'v1');
  repositories.write('team/catalog.yaml', catalogText(GROUP, ['SetLabels', 'SetNames']));
  repositories.commit('another function');
  repositories.publish('catalogs.git');
  registry = await startRegistry(path.join(folder, 'data'));
  host = new URL(registry.url).host;
  const file = path.join(repositories.work, 'team/catalog.yaml');
  const pushed = await krmhub(['push', file, `${host}/team/catalog:v1`], { cwd: folder, env: registry.env });
  expect(pushed.code, pushed.stderr).toBe(0);
});
afterAll(async () => {
  await registry.stop();
  await repositories.stop();
  remove();
});
beforeEach(() => rmSync(cache, { recursive: true, force: true }));

const resolve = (kind: string, ...args: string[]) =>
  krmhub(['resolve', `${GROUP}/v1`, kind, '-o', 'json', ...args], {
    cwd: folder,
    env: { KRMHUB_CACHE: cache },
  });
const git = (ref: string) => `git::${repositories.at(`team/catalog.yaml${ref}`, 'catalogs.git')}`;

describe('a catalog in git', () => {
  it('is read at its branch, tag or commit, and leaves nothing behind', async () => {
    for (const [ref, kind, code] of [
      ['', 'SetNames', 0],
      ['?ref=main', 'SetNames', 0],
      ['?ref=v1', 'SetLabels', 0],
      ['?ref=v1', 'SetNames', 3],
      [`?ref=${repositories.git('rev-parse', 'v1')}`, 'SetLabels', 0],
    ] as const) {
      const found = await resolve(kind, '-c', git(ref));
      expect([ref, found.code], found.stderr).toEqual([ref, code]);
      if (code === 0) expect(JSON.parse(found.stdout).catalog).toMatchObject({ reference: git(ref) });
    }
    expect(await repositories.left()).toEqual([]);
  });

  it('is not fetched again while its commit is the same, and offline not at all', async () => {
    const first = await resolve('SetLabels', '-c', git('?ref=v1'));
    repositories.server.asked.length = 0;
    expect((await resolve('SetLabels', '-c', git('?ref=v1'))).stdout).toBe(first.stdout);
    expect(
      repositories.server.asked.some(
        ({ url }) => url.includes('git-upload-pack') && !url.includes('service='),
      ),
    ).toBe(true);
    repositories.server.asked.length = 0;
    expect((await resolve('SetLabels', '-c', git('?ref=v1'), '--offline')).stdout).toBe(first.stdout);
    expect(repositories.server.asked).toEqual([]);
  });

  it('is trusted by the digest of its file', async () => {
    const digest = sha256(catalogText(GROUP, ['SetLabels']));
    expect((await resolve('SetLabels', '-c', `${git('?ref=v1')}@${digest}`)).code).toBe(0);
    const refused = await resolve('SetLabels', '-c', `${git('')}@${digest}`);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('--trusted-catalog')]);
  });
});

describe('a catalog in an OCI registry', () => {
  it('is read by its tag or its digest', async () => {
    const byTag = await resolve('SetNames', '-c', `oci://${host}/team/catalog:v1`);
    expect([byTag.code, byTag.stderr]).toEqual([0, '']);
    const refused = await resolve('SetNames', '-c', `oci://${host}/team/catalog:v1@sha256:${'b'.repeat(64)}`);
    expect(refused.code).toBe(4);
    const [option] = /oci:\/\/\S+@sha256:[0-9a-f]{64}$/m.exec(refused.stderr.trim())!;
    expect((await resolve('SetNames', '-c', option)).code).toBe(0);
    const digest = option.replace(/:v1@/, '@');
    const byDigest = await resolve('SetNames', '-c', digest);
    expect(JSON.parse(byDigest.stdout).catalog).toMatchObject({ reference: digest });
    expect((await resolve('SetNames', '-c', digest, '--offline')).code).toBe(0);
  });

  it('may be the snapshot of a registry', async () => {
    const text = `oci://${host}/catalogs/default:latest`;
    const found = await resolve('SetLabels', '-c', text);
    expect([found.code, found.stderr]).toEqual([3, expect.stringContaining(`not found in ${text}`)]);
  });

  it('that does not exist is an error', async () => {
    const missing = await resolve('SetLabels', '-c', `oci://${host}/team/nothing:v1`);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining('team/nothing:v1 not found')]);
  });
});
