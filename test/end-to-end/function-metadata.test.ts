import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { SourceList } from '@krmhub/api/model';
import { createLog, type RunningRegistry, readConfig, startRegistry } from '@krmhub/registry';
import type { SnapshotReport } from '@krmhub/schema';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTest } from '../../apps/cli/src/testing/command-line.js';
import { gitServer } from '../../packages/sources/src/testing/servers.js';
import { commitFiles } from '../commit-files.js';
import { sharedData, temporaryFolder } from '../running.js';

/**
 * Vendors that have never heard of catalogs: a registry converts what they have in git, on each sync, and a build
 * without a registry gives the same bytes.
 */

const { folder, remove } = temporaryFolder();
const home = path.join(folder, 'home');
let git: Awaited<ReturnType<typeof gitServer>>;
let registry: RunningRegistry;
let env: Record<string, string>;

beforeAll(async () => {
  mkdirSync(home, { recursive: true });
  mkdirSync(path.join(folder, 'git'));
  git = await gitServer(path.join(folder, 'git'));
  registry = await startRegistry({
    config: readConfig(
      { KRMHUB_SOURCE_ADDRESSES: '127.0.0.1' },
      { host: '127.0.0.1', port: '0', data: path.join(folder, 'data') },
    ),
    log: createLog('silent', { write: () => undefined }),
  });
  env = {
    KRMHUB_REGISTRY: registry.url,
    KRMHUB_TOKEN: (await readFile(registry.adminTokenFile, 'utf8')).trim(),
  };
});
afterAll(async () => {
  await registry.close();
  await git.close();
  remove();
});

const run = async (...args: string[]) => {
  const io = await runTest(args, { cwd: home, env });
  expect(io.exitCode, `${args.join(' ')}: ${io.err()}`).toBe(0);
  return io.out();
};
const at = (repository: string, rest = '') => `git::${git.origin}/${repository}${rest}`;

/**
 * Applies a recipe with one source; returns the report. Builds without the registry too: the bytes must be the same.
 */
async function apply(name: string, catalog: string): Promise<SnapshotReport> {
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - name: vendor
    catalog: ${catalog}
`;
  writeFileSync(path.join(home, `${name}.yaml`), recipe);
  await run('catalog', 'apply', `${name}.yaml`);
  await run('catalog', 'pull', name, '--out', `${name}.served.yaml`);
  await run('catalog', 'build', `${name}.yaml`, '--out', `${name}.built.yaml`);
  expect(read(`${name}.built.yaml`)).toBe(read(`${name}.served.yaml`));
  return JSON.parse(await run('catalog', 'report', name, '-o', 'json')) as SnapshotReport;
}
const read = (name: string) => readFileSync(path.join(home, name), 'utf8');
const images = (name: string) =>
  [...read(`${name}.served.yaml`).matchAll(/image: (\S+)/g)].map(([, image]) => image!).sort();

const metadata = (name: string) => `image: registry.example.com/fn/${name}
description: What ${name} does
sourceURL: https://github.com/example-org/functions/tree/main/${name}
examplePackageURLs: [https://github.com/example-org/functions/tree/main/examples/${name}]
emails: [team@example.com]
license: Apache-2.0
`;

describe('function metadata in a git repository', () => {
  it('is a source, with releases from folders, and is converted again on each sync', async () => {
    const files = {
      'set-labels/v0.1/metadata.yaml': metadata('set-labels'),
      'set-labels/v0.2/metadata.yaml': metadata('set-labels'),
      'set-labels/values.yaml': 'image: nginx\nreplicas: 1\nport: 80\nhost: a\n',
      'broken/v1.0/metadata.yaml': metadata('broken').replace('registry.example.com/fn/broken', 'No Image'),
    };
    commitFiles(path.join(folder, 'git'), 'vendor', files);
    const report = await apply(
      'folders',
      `{url: '${at('vendor.git')}', format: kpt-metadata, group: fn.example.com}`,
    );
    expect(images('folders')).toEqual(['registry.example.com/fn/set-labels:v0.2']);
    expect(report.sources?.[0]).toMatchObject({
      state: 'current',
      invalidEntries: 1,
      invalid: [{ message: expect.stringMatching(/^broken\/v1\.0\/metadata\.yaml: image: .*No Image/) }],
      completed: [{ group: 'fn.example.com', kind: 'SetLabels', fields: expect.arrayContaining(['schema']) }],
    });
    commitFiles(path.join(folder, 'git'), 'vendor', {
      ...files,
      'set-labels/v0.3/metadata.yaml': metadata('set-labels'),
    });
    await run('source', 'refresh', 'folders', 'vendor');
    await run('catalog', 'pull', 'folders', '--out', 'folders.served.yaml');
    expect(images('folders')).toEqual(['registry.example.com/fn/set-labels:v0.3']);
  });

  it('is read again in another way when the recipe says so, although its bytes are the same', async () => {
    await apply('regrouped', `{url: '${at('vendor.git')}', format: kpt-metadata}`);
    expect(read('regrouped.served.yaml')).toContain('group: fn.kpt.dev');
    await apply('regrouped', `{url: '${at('vendor.git')}', format: kpt-metadata, group: other.example.com}`);
    expect(read('regrouped.served.yaml')).toContain('group: other.example.com');
    expect(read('regrouped.served.yaml')).not.toContain('fn.kpt.dev');
  });

  it('is refused as a catalog with the format to name', async () => {
    commitFiles(path.join(folder, 'git'), 'list', {
      'catalog.json': JSON.stringify({
        version: '1',
        functions: [
          {
            description: 'Sets labels',
            documentation: 'https://example.com/set-labels.md',
            image: 'ghcr.io/example-org/set-labels',
            digest: `sha256:${'0f'.repeat(32)}`,
          },
        ],
      }),
    });
    const url = at('list.git', '//catalog.json');
    writeFileSync(
      path.join(home, 'wrong.yaml'),
      `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: wrong}\nspec:\n  sources:\n  - name: vendor\n    catalog: {url: '${url}'}\n`,
    );
    const applied = await runTest(['catalog', 'apply', 'wrong.yaml'], { cwd: home, env });
    expect(applied.exitCode).toBe(5);
    expect(applied.err()).toContain('set `format: kpt-list` in the recipe');
    const { sources } = JSON.parse(await run('source', 'list', 'wrong', '-o', 'json')) as SourceList;
    expect(sources[0]?.message).toContain('set `format: kpt-list` in the recipe');
    await apply('list', `{url: '${url}', format: kpt-list}`);
    expect(read('list.served.yaml')).toContain('group: example-org.github.io');
    expect(read('list.served.yaml')).toContain('0f0f');
  });
});

const data = path.join(sharedData, 'kpt-metadata');
/** The files of a folder, by their paths. */
function filesBelow(where: string): Record<string, string> {
  const names = readdirSync(where, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    names
      .filter((name) => /\.ya?ml$/.test(name))
      .map((name) => [name, readFileSync(path.join(where, name), 'utf8')]),
  );
}

describe.skipIf(!existsSync(data))(
  `the files of real vendors (from ${path.relative(process.cwd(), sharedData)}; skipped if it does not exist)`,
  () => {
    it('gives the newest release of each function of kpt, from the folders of its release branches', async () => {
      commitFiles(path.join(folder, 'git'), 'kpt', filesBelow(path.join(data, 'release-branches')));
      const report = await apply('kpt', `{url: '${at('kpt.git')}', format: kpt-metadata}`);
      expect(report.sources?.[0]?.invalidEntries).toBe(0);
      expect(images('kpt')).toHaveLength(new Set(readdirSync(path.join(data, 'release-branches'))).size);
      expect(images('kpt')).toContain('gcr.io/kpt-fn/set-namespace:v0.4');
    });

    it('gives functions of kpt without a release the one of the newest tag', async () => {
      commitFiles(path.join(folder, 'git'), 'google', filesBelow(path.join(data, 'google-2023')), [
        'v0.9.0',
        'set-labels/v0.2.1',
      ]);
      const report = await apply(
        'tags',
        `{url: '${at('google.git')}', format: kpt-metadata, releases: tags}`,
      );
      expect(images('tags')).toEqual(
        expect.arrayContaining(['gcr.io/kpt-fn/set-labels:v0.2.1', 'gcr.io/kpt-fn/apply-setters:v0.9.0']),
      );
      // Two have no image, and no one can make one up.
      expect(report.sources?.[0]?.invalid.map(({ message }) => message)).toEqual(
        report.sources?.[0]?.invalid.map(() => expect.stringContaining('no image')),
      );
    });

    it('gives Krew plugins as exec functions, and the functions that Porch runs', async () => {
      commitFiles(path.join(folder, 'git'), 'krew', filesBelow(path.join(sharedData, 'krew')));
      commitFiles(path.join(folder, 'git'), 'porch', filesBelow(path.join(sharedData, 'porch')));
      const krew = await apply('krew', `{url: '${at('krew.git', '//plugins')}', format: krew}`);
      expect(krew.sources?.[0]).toMatchObject({ state: 'current' });
      expect(read('krew.served.yaml')).toContain('kind: AccessMatrix');
      const porch = await apply('porch', `{url: '${at('porch.git', '//deployments/')}', format: porch}`);
      expect(porch.sources?.[0]?.invalid.map(({ message }) => message)).toEqual([
        expect.stringContaining('no prefix of kubeconform has a registry'),
      ]);
      expect(images('porch').length).toBeGreaterThan(15);
    });
  },
);
