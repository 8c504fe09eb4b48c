import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { fileRegistry, firstSnapshot, runTest, temporaryFolder } from '../testing/command-line.js';
import { writeKeyFiles } from '../testing/key-files.js';

const folder = temporaryFolder();
const fixtures = fileURLToPath(new URL('../../../../test/fixtures/functions/set-labels', import.meta.url));
const home = path.join(folder, 'home');
const sha256 = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
const registry = fileRegistry();

beforeAll(async () => {
  await firstSnapshot(registry.url);
  await writeKeyFiles(folder, 'krmhub', 'other');
  cpSync(path.join(fixtures, '1.0.0.yaml'), path.join(folder, 'definition.yaml'));
  writeFileSync(path.join(folder, 'broken.yaml'), 'kind: KRMFunctionDefinition\nspec: {}\n');
  await json('publish', 'definition.yaml', '--release', '1.0.0');
});

const run = (args: readonly string[], stdin = '') => {
  const env = { ...registry.env, HOME: home, KRMHUB_KEY_PASSWORD: 'secret' };
  return runTest(args, { cwd: folder, stdin, env });
};

/** Runs a command with `-o json`, and returns the one JSON value that it prints on stdout. */
async function json(...args: string[]): Promise<unknown> {
  const io = await run([...args, '-o', 'json']);
  expect([args, io.exitCode, io.err()]).toEqual([args, 0, io.err()]);
  return JSON.parse(io.out());
}

it('init lists the files', async () => {
  expect(await json('init', 'example.com/SetOwner', '--out', 'owner')).toEqual({
    group: 'example.com',
    kind: 'SetOwner',
    folder: 'owner',
    files: expect.arrayContaining(['owner/definition.yaml', 'owner/README.md']),
  });
  const again = await run(['init', 'example.com/SetOwner', '--out', 'owner', '-o', 'json']);
  expect([again.exitCode, JSON.parse(again.out()).error]).toEqual([
    1,
    expect.objectContaining({ code: 'conflict', hint: 'Use another folder: --out FOLDER' }),
  ]);
});

it('keygen prints the files and the fingerprint', async () => {
  expect(await json('keygen', '--out', 'mine')).toEqual({
    privateFile: 'mine.key',
    publicFile: 'mine.pub',
    fingerprint: sha256,
  });
});

it('sign prints what it signed, and where the bundle is', async () => {
  const predicateType = expect.stringContaining('://');
  const file = await json('sign', 'definition.yaml', '--key', 'krmhub.key', '--release', '1.0.0');
  expect(file).toEqual({ subject: sha256, predicateType, file: 'definition.yaml.sigstore.json' });
  const release = await json('sign', 'functions.example.com/SetLabels@1.0.0', '--key', 'krmhub.key');
  const reference = expect.stringMatching(/\/functions\/functions\.example\.com\/setlabels@sha256:/);
  expect(release).toEqual({ subject: sha256, predicateType, reference, bundle: sha256 });
});

it('trust prints the entries that it added and removed', async () => {
  const add = ['trust', 'add', 'team', '--group', 'example.com', '--key', 'krmhub.pub'];
  const file = path.join(home, '.config/krmhub/trust.yaml');
  const entry = expect.objectContaining({ name: 'team', groups: ['example.com'] });
  expect(await json(...add)).toEqual({ file, entries: [{ outcome: 'added', entry }] });
  expect(await json(...add)).toEqual({ file, entries: [{ outcome: 'unchanged', entry }] });
  const other = [...add.slice(0, -1), 'other.pub', '--replace'];
  expect(await json(...other)).toEqual({ file, entries: [{ outcome: 'replaced', entry }] });
  expect(await json('trust', 'remove', 'team')).toEqual({ file, removed: entry });
});

it('convert prints the files and the diagnostics', async () => {
  const written = (await json('convert', 'definition.yaml', '--out', 'converted')) as {
    files: { file: string }[];
  };
  expect(written).toMatchObject({ definitions: 1, files: [{ outcome: 'written' }], diagnostics: [] });
  expect(written.files[0]!.file).toMatch(/^converted\//);
  expect(await json('convert', 'definition.yaml', '--out', 'converted')).toMatchObject({
    files: [{ outcome: 'unchanged' }],
  });
  const broken = await run(['convert', 'broken.yaml', '--out', 'converted', '-o', 'json']);
  expect([broken.exitCode, JSON.parse(broken.out())]).toEqual([
    1,
    { definitions: 0, files: [], diagnostics: expect.arrayContaining([expect.anything()]) },
  ]);
});

it('catalog pull prints the file and its digest', async () => {
  expect(await json('catalog', 'pull', 'default', '--out', 'default.yaml')).toEqual({
    catalog: 'default',
    file: 'default.yaml',
    outcome: 'written',
    size: expect.any(Number),
    digest: sha256,
  });
});

it('catalog pull prints the catalog in the format of -o where it prints no report', async () => {
  const catalog = {
    kind: 'Catalog',
    spec: { krmFunctions: [expect.objectContaining({ group: expect.any(String) })] },
  };
  const pulled = await json('catalog', 'pull', 'default');
  expect(pulled).toMatchObject(catalog);
  expect(await json('catalog', 'pull', 'default', '--format', 'json')).toEqual(pulled);
  const yaml = await run(['catalog', 'pull', 'default', '-o', 'yaml']);
  expect(yaml.out()).toMatch(/^apiVersion: /);
});

it.each([
  ['catalog', 'pull', 'default', '--format', 'yaml'],
  ['catalog', 'pull', 'default', '--profile', 'porch'],
  ['convert', 'definition.yaml'],
])('%s %s does not mix its document and JSON on stdout', async (...args) => {
  const io = await run([...args, '-o', 'json']);
  expect([io.exitCode, JSON.parse(io.out()).error]).toEqual([
    2,
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('requires --out') }),
  ]);
});

it('login, logout, and token report-leak print the registry', async () => {
  const [{ url }, file] = [registry, path.join(home, '.config/krmhub/credentials.json')];
  const io = await run(['login', '-o', 'json'], registry.token);
  expect(JSON.parse(io.out())).toMatchObject({ registry: url, name: 'admin', file });
  expect(io.out()).not.toContain(registry.token);
  expect(await json('logout')).toEqual({ registry: url, outcome: 'removed' });
  expect(await json('logout')).toEqual({ registry: url, outcome: 'unchanged' });
  const secret = (await run(['token', 'create', 'leaked', '--scope', 'publish'])).out();
  const leak = await run(['token', 'report-leak', '-o', 'json'], secret);
  expect(JSON.parse(leak.out())).toEqual({ registry: url, outcome: 'reported' });
});
