import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RegistryClient } from '@krmhub/api/client';
import { sha256 } from '@krmhub/schema';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readConfig } from '../server/config.js';
import { type RunningRegistry, startRegistry } from '../server/serve.js';
import { definitionText } from '../testing/test-registry.js';

/** The client checks the shape of every response, so each test covers both sides of the contract. */
let folder: string;
let registry: RunningRegistry;
let client: RegistryClient;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-'));
  registry = await startRegistry({
    config: readConfig({}, { port: '0', data: folder }),
    log: pino({ level: 'silent' }),
  });
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  client = new RegistryClient({ url: registry.url, token });
});
afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

const name = ['example.com', 'SetLabels', '1.0.0'] as const;

it('serves every method of the client', async () => {
  const [group, kind, release] = name;
  const definition = new TextEncoder().encode(definitionText({ kind, release }));
  const readme = new TextEncoder().encode('# SetLabels\n');
  const submission = { group, kind, release, definition, readme, mediaType: 'application/yaml' } as const;
  expect(await client.publish({ ...submission, dryRun: true })).toMatchObject({
    outcome: 'created',
    dryRun: true,
  });
  const published = await client.publish({ ...submission, wait: true });
  expect(published).toMatchObject({ outcome: 'created', catalogs: [{ catalog: 'default' }] });

  expect((await client.search({ q: 'labels', tag: ['mutator'], limit: 5 })).items).toHaveLength(1);
  expect((await client.function(group, kind)).newest?.definition.names.kind).toBe(kind);
  expect((await client.release(...name)).readme).toBe(true);
  expect(sha256((await client.definition(...name)).bytes)).toBe(sha256(definition));
  expect((await client.definition(...name)).digest).toBe(sha256(definition));
  expect(sha256((await client.readme(...name)).bytes)).toBe(sha256(readme));
  expect(await client.functionConfigSchema(group, 'v1', kind)).toHaveProperty('$schema');

  expect((await client.deprecate(...name, { reason: 'old' })).deprecated?.reason).toBe('old');
  expect((await client.yank(...name, 'broken')).yanked?.reason).toBe('broken');
  expect((await client.unyank(...name, 'mended')).yanked).toBeUndefined();
  expect((await client.events(0)).events.length).toBeGreaterThan(4);

  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: ours, functions: {}}]}
`;
  expect((await client.applyCatalog('ours', new TextEncoder().encode(recipe))).outcome).toBe('created');
  expect(await client.cutCatalog('ours')).toMatchObject({ name: 'ours', newest: { serial: 1 } });
  expect((await client.catalogs()).catalogs.map((catalog) => catalog.name).sort()).toEqual([
    'default',
    'ours',
  ]);
  expect((await client.catalog('ours')).newest?.functions).toBe(1);
  const document = await client.catalogDocument('ours');
  expect(document.digest).toBe(sha256(document.bytes));
  expect((await client.catalogDocument('ours', { snapshot: '1', format: 'json' })).mediaType).toBe(
    'application/json',
  );
  expect(sha256((await client.catalogEntry('ours', group, kind)).bytes)).toBe(document.digest);
  expect((await client.snapshots('ours')).snapshots).toHaveLength(1);
  expect((await client.snapshot('ours', '1')).entries).toHaveLength(1);
  expect((await client.snapshotReport('ours', '1')).yanked).toEqual([]);

  const created = await client.createToken({ name: 'ci', scopes: ['publish'] });
  expect((await client.whoami()).name).toBe('admin');
  expect((await client.tokens()).tokens.map(({ id }) => id)).toContain(created.id);
  expect((await client.revokeToken(created.id)).revokedAt).toBeDefined();
  expect(await client.openapi()).toHaveProperty('paths');
  await client.health();
  await client.ready();
  expect(await client.metrics()).toContain('krmhub_functions 1');
});

it('reports errors as the contract defines them', async () => {
  await expect(client.function('example.com', 'Nothing')).rejects.toMatchObject({ code: 'not-found' });
  const bad = {
    group: 'example.com',
    kind: 'Bad',
    release: '1.0.0',
    definition: new TextEncoder().encode('a: ['),
  };
  await expect(client.publish({ ...bad, mediaType: 'application/yaml' })).rejects.toMatchObject({
    code: 'invalid-document',
    diagnostics: [expect.objectContaining({ severity: 'error' })],
  });
  const anonymous = new RegistryClient({ url: registry.url });
  await expect(anonymous.whoami()).rejects.toMatchObject({ code: 'unauthorized' });
});
