import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { PROFILES, type ProfileReport, sha256 } from '@krmhub/schema';
import { beforeAll, expect, it } from 'vitest';
import { fileRegistry, firstSnapshot, runTest, temporaryFolder } from '../testing/command-line.js';

const FIXTURES = new URL('../../../../test/fixtures/functions/', import.meta.url);

const folder = temporaryFolder();
const registry = fileRegistry();
let client: RegistryClient;
beforeAll(async () => {
  await firstSnapshot(registry.url);
  client = new RegistryClient(registry);
  for (const [file, group, kind, release] of [
    ['set-labels/2.0.0.yaml', 'functions.example.com', 'SetLabels', '2.0.0'],
    ['require-limits/0.9.0.yaml', 'policy.example.org', 'RequireLimits', '0.9.0'],
  ] as const) {
    const definition = await readFile(new URL(file, FIXTURES));
    await client.publish({ group, kind, release, definition, mediaType: 'application/yaml', wait: true });
  }
});

const pull = (...args: string[]) => runTest(['catalog', 'pull', ...args], { cwd: folder, env: registry.env });

it('pulls a catalog in a profile, and prints the number of unsupported values', async () => {
  const pulled = await pull('default', '--profile', 'porch');
  expect(pulled.exitCode, pulled.err()).toBe(0);
  const { bytes } = await client.catalogDocument('default', { profile: 'porch' });
  expect(Buffer.from(pulled.outBytes())).toEqual(Buffer.from(bytes));
  expect(pulled.out()).toContain('name: setlabels.functions.example.com');
  expect(pulled.err()).toContain('profile porch does not support: metadata.labels, names.kind');
  expect(pulled.err()).toContain(
    'does not support 3 values, 1 of 2 functions omitted; list them with --losses FILE',
  );
  expect(pulled.err()).toContain(
    '  1 × omitted API versions in policy.example.org/RequireLimits v1beta1: omitted: Porch runs only',
  );
});

it('writes the catalog and the unsupported fields to files', async () => {
  const pulled = await pull(
    'default',
    '--profile',
    'kpt-list',
    '--losses',
    'losses.json',
    '--out',
    'list.json',
  );
  expect(pulled.exitCode, pulled.err()).toBe(0);
  expect(pulled.out()).toBe('');
  expect(pulled.err()).toContain('see losses.json');
  const list = await readFile(path.join(folder, 'list.json'));
  const report = JSON.parse(await readFile(path.join(folder, 'losses.json'), 'utf8')) as ProfileReport;
  expect(JSON.parse(list.toString()).functions).toHaveLength(1);
  expect(report).toMatchObject({ profile: 'kpt-list', functions: 1, omitted: 1, digest: sha256(list) });
  const { newest } = await client.catalog('default');
  expect(report.snapshot).toBe(newest!.digest);
});

it('converts a pulled catalog to the same bytes, with its labels', async () => {
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: labelled, labels: {team: platform}}
spec: {sources: [{name: ours, functions: {}}]}
`;
  await writeFile(path.join(folder, 'recipe.yaml'), recipe);
  const run = (...args: string[]) => runTest(args, { cwd: folder, env: registry.env });
  expect((await run('catalog', 'apply', 'recipe.yaml')).exitCode).toBe(0);
  expect((await pull('labelled', '--out', 'catalog.yaml')).exitCode).toBe(0);
  for (const profile of PROFILES) {
    const pulled = await pull('labelled', '--profile', profile);
    const converted = await run('convert', 'catalog.yaml', '--to', profile);
    expect(converted.exitCode, converted.err()).toBe(0);
    expect(converted.out()).toBe(pulled.out());
    if (profile.startsWith('k') && profile !== 'kpt-list') expect(pulled.out()).toContain('team: platform');
  }
});

it('pulls the profile of a snapshot by serial and by digest', async () => {
  const { snapshots } = await client.snapshots('default');
  // The first snapshot may be of the empty registry, or of the first function.
  const { serial, digest } = snapshots[1]!;
  const bySerial = await pull('default', '--profile', 'kep', '--snapshot', String(serial));
  const byDigest = await pull('default', '--profile', 'kep', '--snapshot', digest);
  expect(bySerial.exitCode, bySerial.err()).toBe(0);
  expect(byDigest.out()).toBe(bySerial.out());
  expect(bySerial.out()).not.toContain('RequireLimits');
  // The KEP's prose says all of it.
  expect(bySerial.err()).toMatch(/^catalog default is not verified: .*\n$/);
});

it.each([
  [['default', '--profile', 'helm'], 2],
  [['default', '--profile', 'kep', '--kind', 'Catalog'], 2],
  [['default', '--profile', 'kep', '--format', 'json'], 2],
  [['default', '--losses', 'losses.json'], 2],
  [['nothing', '--profile', 'kep'], 3],
  [['default', '--profile', 'kep', '--snapshot', '99'], 3],
])('refuses %j', async (args, exitCode) => {
  const refused = await pull(...args);
  expect(refused.exitCode).toBe(exitCode);
  expect(refused.out()).toBe('');
});

it('writes nothing if the document and the report do not match, or are of another snapshot', async () => {
  const text = 'a: 1\n';
  const asked = sha256('asked for');
  const report = {
    apiVersion: 'krmhub.dev/v1alpha1',
    kind: 'ProfileReport',
    catalog: 'x',
    snapshot: asked,
    profile: 'kep',
    unsaid: [],
    losses: [],
    digest: sha256(text),
    functions: 0,
    omitted: 0,
  };
  const against = async (given: object, etag = sha256(text)) => {
    const server = createServer((request, response) => {
      if (request.url?.includes('/profiles/')) {
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...report, ...given }));
      } else {
        response.setHeader('Content-Type', 'application/yaml').setHeader('ETag', `"${etag}"`).end(text);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ran = await pull(
      'x',
      '--profile',
      'kep',
      '--snapshot',
      asked,
      '--registry',
      url,
      '--out',
      'x.yaml',
    );
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    return ran;
  };
  for (const [given, etag, reason] of [
    [{ digest: sha256('other') }, undefined, 'digest mismatch: expected '],
    [{}, sha256('other'), 'digest mismatch: expected '],
    [{ snapshot: sha256('other') }, undefined, ', expected '],
    [{ snapshot: undefined }, undefined, ', expected '],
  ] as const) {
    const ran = await against(given, etag);
    expect([ran.exitCode, ran.err()]).toEqual([expect.any(Number), expect.stringContaining(reason)]);
    expect(ran.exitCode).not.toBe(0);
    await expect(readFile(path.join(folder, 'x.yaml'))).rejects.toThrow();
  }
  expect((await against({})).exitCode).toBe(0);
  expect(await readFile(path.join(folder, 'x.yaml'), 'utf8')).toBe(text);
});
