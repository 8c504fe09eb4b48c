import { mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestRegistry } from '../apps/registry/src/testing/test-registry.js';
import { spawnSync } from './processes.js';
import { cleanEnvironment, krmhub, root, temporaryFolder } from './running.js';

/**
 * Counts what commands load, because Node spends most of a start on it: with the bundle the files and their bytes, without it
 * the libraries. If a number grows, load a module only where it is needed, or list it in `scripts/merge-chunks.mjs`.
 */

const { folder, remove } = temporaryFolder();
const at = (name: string) => path.join(folder, name);
const env = { HOME: folder, KRMHUB_CACHE: at('cache'), PATH: `${at('bin')}:/usr/bin:/bin` };
const DIGEST = 'ab'.repeat(32);
const CONFIG = 'apiVersion: example.com/v1\nkind: Upper\nmetadata:\n  name: upper\n';
const KPTFILE =
  'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\npipeline:\n  mutators:\n    - exec: cat\n';
const ENGINE = '#!/bin/sh\ncase "$1" in\nrun) exec cat ;;\nversion) echo 1.0.0 ;;\nesac\n';

beforeAll(async () => {
  mkdirSync(at('bin'));
  writeFileSync(at('bin/docker'), ENGINE, { mode: 0o755 });
  writeFileSync(at('bin/kustomize'), '#!/bin/sh\n', { mode: 0o755 });
  const container = { image: 'registry.example.com/upper:v1', sha256: DIGEST };
  const entry = {
    group: 'example.com',
    names: { kind: 'Upper' },
    versions: [{ name: 'v1', runtime: { container } }],
  };
  const document = { metadata: { name: 'team' }, spec: { krmFunctions: [entry] } };
  const catalog = { apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'Catalog', ...document };
  writeFileSync(at('catalog.json'), JSON.stringify(catalog));
  // A file that was just written is read again, and a later run would write to the cache.
  utimesSync(at('catalog.json'), 0, 0);
  mkdirSync(at('app'));
  writeFileSync(at('app/upper.yaml'), CONFIG);
  writeFileSync(at('app/kustomization.yaml'), 'catalogs: [../catalog.json]\ntransformers: [upper.yaml]\n');
  mkdirSync(at('package'));
  writeFileSync(at('package/config.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n');
  writeFileSync(at('package/Kptfile'), KPTFILE);
  mkdirSync(at('scripts'));
  const annotation = '  annotations:\n    config.kubernetes.io/function: |\n      starlark: {path: a.star}\n';
  writeFileSync(at('scripts/upper.yaml'), CONFIG + annotation);
  writeFileSync(at('scripts/a.star'), 'pass\n');
  const installed = await krmhub(['plugins', 'install', '-c', at('catalog.json')], { cwd: folder, env });
  expect(installed).toMatchObject({ code: 0 });
});
afterAll(remove);

/** The arguments of Node.js after the program, and what it reads. */
type Run = [program: 'krmhub' | 'plugin', args: string[], stdin?: string];

function loads(
  file: string,
  [, args, stdin = '']: Run,
  expected: 'success' | 'failure' = 'success',
): string[] {
  rmSync(at('loads'), { force: true });
  const hook = pathToFileURL(path.join(root, 'test/record-loads.mjs')).href;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', hook, path.join(root, 'apps/cli/dist', file), ...args],
    {
      cwd: folder,
      env: cleanEnvironment(folder, { ...env, LOADS_FILE: at('loads') }),
      input: stdin,
      encoding: 'utf8',
    },
  );
  if ((status === 0) !== (expected === 'success')) throw new Error(`ended with ${status}: ${stderr}`);
  return readFileSync(at('loads'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((url) => fileURLToPath(url));
}

/** The names of the libraries that a run loads without the bundle. */
function libraries(run: Run): string[] {
  const files = loads(`${run[0] === 'krmhub' ? 'main' : 'plugin'}.js`, run);
  const names = files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
  return [...new Set(names)].sort();
}

function bundled(run: Run): { files: number; kilobytes: number } {
  const files = new Set(loads(`bundle/${run[0]}.js`, run));
  const bytes = [...files].reduce((sum, file) => sum + statSync(file).size, 0);
  return { files: files.size, kilobytes: bytes / 1_000 };
}

const plugin = () => at('.config/kustomize/plugin/example.com/v1/upper/Upper');
const cases: { what: string; run: () => Run; libraries: string[]; files: number; kilobytes: number }[] = [
  {
    what: 'krmhub --version',
    run: () => ['krmhub', ['--version']],
    libraries: ['commander'],
    files: 4,
    kilobytes: 85,
  },
  {
    what: 'krmhub resolve with a cache',
    run: () => ['krmhub', ['resolve', 'example.com/v1', 'Upper', '-c', at('catalog.json')]],
    libraries: ['canonicalize', 'commander', 'fastest-levenshtein'],
    files: 9,
    kilobytes: 249,
  },
  {
    what: 'a plugin of kustomize',
    run: () => ['plugin', [plugin(), at('app/upper.yaml')], 'apiVersion: v1\nkind: ConfigMap\n'],
    libraries: ['canonicalize', 'fastest-levenshtein'],
    files: 9,
    kilobytes: 369,
  },
  {
    what: 'krmhub fn render',
    run: () => ['krmhub', ['fn', 'render', at('package'), '--allow-package-exec']],
    libraries: ['commander'],
    files: 10,
    kilobytes: 502,
  },
  {
    what: 'krmhub fn run with a script',
    run: () => ['krmhub', ['fn', 'run', at('scripts')]],
    libraries: ['commander'],
    files: 15,
    kilobytes: 747,
  },
  {
    what: 'krmhub build',
    run: () => {
      // What kustomize itself does is counted nowhere, so that one without a function is enough.
      writeFileSync(at('app/kustomization.yaml'), 'catalogs: [../catalog.json]\n');
      return ['krmhub', ['build', at('app'), '--kustomize', at('bin/kustomize')]];
    },
    libraries: ['canonicalize', 'commander', 'fastest-levenshtein'],
    files: 12,
    kilobytes: 608,
  },
];

it.each(cases)('$what loads few files and libraries', ({ run, files, kilobytes, ...expected }) => {
  // Fills the cache.
  bundled(run());
  expect(libraries(run())).toEqual(expected.libraries);
  const counted = bundled(run());
  expect(counted.files).toBeLessThanOrEqual(files);
  expect(counted.kilobytes).toBeLessThanOrEqual(kilobytes);
});

it('loads the client of S3 only if the blobs are in S3', async () => {
  const record = {
    bucket: 'blobs',
    prefix: '',
    region: 'x',
    bucketUrl: 'http://127.0.0.1:9/blobs',
    registry: 'x',
  };
  const loadsClient = (name: string, expected: 'success' | 'failure') => {
    const run: Run = ['krmhub', ['fsck', '--data', at(name)]];
    return loads('main.js', run, expected).some((file) => file.includes('/node_modules/aws4fetch/'));
  };
  for (const name of ['data', 'data-s3']) {
    const registry = await openTestRegistry({ folder: at(name) });
    await registry.parts.close();
  }
  writeFileSync(at('data-s3/blob-store.json'), JSON.stringify(record));
  Object.assign(env, { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' });
  expect(loadsClient('data', 'success')).toBe(false);
  // Nothing listens at the endpoint.
  expect(loadsClient('data-s3', 'failure')).toBe(true);
});

it('runs only the program that was started', async () => {
  const refused = spawnSync(
    process.execPath,
    [path.join(root, 'apps/cli/dist/bundle/krmhub.js'), 'build', 'x'],
    {
      cwd: folder,
      env: cleanEnvironment(folder, env),
      encoding: 'utf8',
    },
  );
  expect(refused.stderr.match(/^error: .*$/gm)).toEqual([expect.stringContaining('cannot read x')]);
  expect(refused.stdout).toBe('');
});
