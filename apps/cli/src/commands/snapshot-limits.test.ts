import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, type TestIo } from '../testing/command-line.js';
import { GROUP, proxiedRegistry } from '../testing/proxied-registry.js';

/** Every command that reads a catalog, on a machine that has verified no snapshot of it. */

const opened = proxiedRegistry();
let newest: number;

beforeAll(async () => {
  for (const release of ['1.0.0', '1.1.0']) await opened.publish('SetLabels', release);
  newest = (await opened.client.catalog('default')).newest!.serial;
  const { keys } = await opened.client.registryKeys();
  await writeFile(path.join(opened.root, 'registry.pub'), keys[0]!.publicKey);
});

const CONFIG = `apiVersion: ${GROUP}/v1\nkind: SetLabels\nmetadata: {name: labels}\nlabels: {a: b}\n`;

beforeEach(async () => {
  const write = (name: string, text: string) => writeFile(path.join(opened.folder, name), text);
  await mkdir(path.join(opened.folder, 'app'));
  await write('app/labels.yaml', CONFIG);
  await write('app/config.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
  await write(
    'app/kustomization.yaml',
    `catalogs: [${opened.catalogUrl()}]\nresources: [config.yaml]\ntransformers: [labels.yaml]\n`,
  );
  await write(
    'app/Kptfile',
    'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\npipeline: {mutators: [{configPath: labels.yaml}]}\n',
  );
  await writeFile(path.join(opened.folder, 'kustomize'), '#!/bin/sh\necho v5.8.2\n', { mode: 0o755 });
  await write(
    'recipe.yaml',
    `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ours}\nspec: {sources: [{name: theirs, catalog: {url: '${opened.catalogUrl()}/catalog.yaml'}}]}\n`,
  );
});

const host = () => new URL(opened.registry.url).host;
const oci = () => `oci://${host()}/catalogs/default:latest`;
const COMMANDS: [string, () => string[]][] = [
  ['build', () => ['build', 'app', '--kustomize', './kustomize']],
  ['resolve', () => ['resolve', `${GROUP}/v1`, 'SetLabels', '-c', opened.catalogUrl()]],
  ['resolve over OCI', () => ['resolve', `${GROUP}/v1`, 'SetLabels', '-c', oci()]],
  [
    'resolve of the whole document',
    () => ['resolve', `${GROUP}/v1`, 'SetLabels', '-c', `${opened.catalogUrl()}/catalog.json`],
  ],
  ['explain', () => ['explain', 'app', '-c', opened.catalogUrl()]],
  ['lock', () => ['lock', 'app', '-c', opened.catalogUrl()]],
  ['fn render', () => ['fn', 'render', 'app', '-c', opened.catalogUrl(), '--dry-run']],
  [
    'fn eval',
    () => ['fn', 'eval', 'app', '--fn-config', 'app/labels.yaml', '-c', opened.catalogUrl(), '--dry-run'],
  ],
  ['kpt sync', () => ['kpt', 'sync', 'app', '-c', opened.catalogUrl()]],
  ['plugins install', () => ['plugins', 'install', '-c', opened.catalogUrl()]],
  ['catalog build', () => ['catalog', 'build', 'recipe.yaml', '--out', 'out']],
  ['catalog diff', () => ['catalog', 'diff', 'default']],
  ['catalog diff over OCI', () => ['catalog', 'diff', oci(), oci()]],
  ['catalog inputs', () => ['catalog', 'inputs', 'default', '--out', 'out']],
  ['catalog show', () => ['catalog', 'show', 'default']],
  ['catalog show of a URL', () => ['catalog', 'show', opened.catalogUrl()]],
  ['catalog pull', () => ['catalog', 'pull', 'default', '--out', 'out']],
  ['pull', () => ['pull', oci().replace('oci://', ''), '--out', 'out']],
  ['convert', () => ['convert', oci(), '--to', 'catalog', '--name', 'ours']],
  ['verify', () => ['verify', oci().replace('oci://', '')]],
  ['copy', () => ['copy', oci().replace('oci://', ''), `${host()}/team/copied:1`]],
];
const REGISTRY_COMMANDS = /^(?:catalog (?:diff|inputs|show|pull)|pull|convert|verify|copy)/;

const run = (args: string[], more: { now?: () => Date } = {}): Promise<TestIo> =>
  runTest(args, {
    cwd: opened.folder,
    env: { ...opened.registry.env, ...opened.env(), KRMHUB_REGISTRY: opened.registry.url },
    ...more,
  });
const pin = async (...options: string[]): Promise<void> => {
  for (const [index, url] of [opened.catalogUrl(), `${opened.registry.url}/catalogs/default`].entries()) {
    const key = ['--key', path.join(opened.root, 'registry.pub')];
    expectEnd(await run(['trust', 'add', url, '--name', `c${index}`, ...key, ...options]), 0);
  }
};

describe.each(COMMANDS)('%s on a machine that has verified no snapshot', (_, args) => {
  it('refuses an older snapshot than --min-serial, and an older signature than --max-age', async () => {
    await pin();
    const later = { now: () => new Date(Date.now() + 60_000) };
    const old = await run([...args(), '--min-serial', `${newest + 1}`]);
    const aged = await run([...args(), '--max-age', '1s'], later);
    expect([old.exitCode, old.out() + old.err()]).toEqual([
      4,
      expect.stringContaining('min-serial: snapshot'),
    ]);
    expect([aged.exitCode, aged.out() + aged.err()]).toEqual([
      4,
      expect.stringContaining('max-age: signed at'),
    ]);
  });

  it('refuses them by the trust file, without an option', async () => {
    await pin('--min-serial', `${newest + 1}`);
    const old = await run(args());
    expect([old.exitCode, old.out() + old.err()]).toEqual([
      4,
      expect.stringContaining('min-serial: snapshot'),
    ]);
  });

  it('refuses a catalog that no pinned key covers, if it has a limit', async () => {
    const io = await run([...args(), '--max-age', '30d']);
    expect([io.exitCode, io.out() + io.err()]).toEqual([
      4,
      expect.stringContaining('no key is pinned for this catalog, and --max-age is set'),
    ]);
  });
});

it.each(COMMANDS.filter(([name]) => REGISTRY_COMMANDS.test(name) || /resolve|explain|lock|sync/.test(name)))(
  'accepts a snapshot that is new enough: %s',
  async (_, args) => {
    await pin('--max-age', '20d');
    expectEnd(await run([...args(), '--min-serial', `${newest}`, '--max-age', '1d']), 0);
  },
);

describe('a lock file', () => {
  const resolve = ['resolve', `${GROUP}/v1`, 'SetLabels'];
  beforeEach(async () => {
    await pin();
    expectEnd(await run(['lock', 'app', '-c', opened.catalogUrl()]), 0);
  });
  const frozen = (...options: string[]) =>
    run([...resolve, '-c', opened.catalogUrl(), '--lock', 'app/krmhub.lock', '--frozen', ...options]);

  it('of an older snapshot is refused, also if nothing but it is read', async () => {
    expect((await frozen('--min-serial', `${newest}`)).exitCode).toBe(0);
    const io = await frozen('--min-serial', `${newest + 1}`);
    expectEnd(io, 4, `the lock file has snapshot ${newest} of it, expected at least ${newest + 1}`);
    await run(['trust', 'remove', 'c0']);
    await run(['trust', 'remove', 'c1']);
    await pin('--min-serial', `${newest + 1}`);
    expect((await frozen()).exitCode).toBe(4);
  });

  it('has no signing time, so that --frozen and --max-age exclude each other', async () => {
    expectEnd(await frozen('--max-age', '30d'), 2, 'cannot be combined with --frozen');
  });
});

it('takes a snapshot that the user names by its serial, however old its signature is', async () => {
  await pin();
  const later = { now: () => new Date(Date.now() + 60_000) };
  const named = (...options: string[]) =>
    run(
      [
        'resolve',
        `${GROUP}/v1`,
        'SetLabels',
        '-c',
        `${opened.catalogUrl()}/snapshots/${newest - 1}`,
        ...options,
      ],
      later,
    );
  expect((await named('--max-age', '1s')).exitCode).toBe(0);
  expect((await named('--min-serial', `${newest}`)).exitCode).toBe(4);
});

it('does not say of a pinned catalog that an option names another one instead', async () => {
  await pin();
  const old = ['build', 'app', '--kustomize', './kustomize', '--min-serial', `${newest + 1}`];
  const plain = await run(old);
  const misspelled = await run([...old, '--trusted-catalog', './other.yaml']);
  expectEnd(misspelled, 4, 'min-serial: snapshot');
  expect(misspelled.err()).toBe(plain.err());
});

it('verifies only by pinned keys with --min-serial or --max-age', async () => {
  await pin();
  const reference = oci().replace('oci://', '');
  const key = path.join(opened.root, 'registry.pub');
  const both = await run(['verify', reference, '--key', key, '--min-serial', '1']);
  expectEnd(both, 2, 'only to keys that are pinned');
  expectEnd(await run(['verify', 'recipe.yaml', '--min-serial', '1']), 4, 'no key is pinned');
});
