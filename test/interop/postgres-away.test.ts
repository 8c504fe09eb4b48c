import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheKey } from '../../apps/registry/src/catalogs/segments/catalog-documents.js';
import { openTestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { type PostgresServer, postgresMissing, startPostgres } from '../contracts/postgres.js';

const PATIENCE = { timeout: 60_000, interval: 200 };

describe.skipIf(postgresMissing)('a registry whose PostgreSQL goes away (needs PostgreSQL)', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  it('serves the newest snapshot of every catalog, also of one that no client asked for', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-away-'));
    const registry = await openTestRegistry({
      folder,
      config: { databaseUrl: await server.createDatabase() },
    });
    const applied = await registry.send(
      'PUT',
      '/api/v1/catalogs/quiet',
      'apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: quiet}\nspec:\n  sources:\n  - name: own\n    functions: {}\n    match: [{group: example.com}]\n',
    );
    expect([applied.status, JSON.stringify(applied.body)]).toEqual([
      expect.any(Number),
      expect.stringContaining('"quiet"'),
    ]);
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    await registry.waitForCatalogs();
    const ready = async () => {
      const { checks } = await registry.parts.readiness(['store', 'blobs', 'search']);
      return checks.find(({ name }) => name === 'catalogs')?.status;
    };
    await expect.poll(ready, PATIENCE).toBe('ok');
    const kept = () => registry.parts.newestSnapshots.known('quiet')?.functions;
    await expect.poll(kept, PATIENCE).toBe(1);
    const digest = registry.parts.newestSnapshots.known('quiet')!.digests['catalog.yaml'];
    await expect
      .poll(() => registry.parts.documents.inMemory(cacheKey(digest, 'gzip')) !== undefined, PATIENCE)
      .toBe(true);
    await server.stop();
    const response = await registry.request('/catalogs/quiet/catalog.yaml', {
      headers: { 'Accept-Encoding': 'identity' },
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('SetLabels')]);
    expect((await registry.request('/api/v1/events')).status).toBe(503);
    await registry.close().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  });
});
