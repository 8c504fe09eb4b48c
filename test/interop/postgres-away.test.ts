import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cacheKey } from '../../apps/registry/src/catalogs/segments/catalog-documents.js';
import { openTestRegistry } from '../../apps/registry/src/testing/test-registry.js';
import { postgresMissing } from '../contracts/postgres.js';
import { useServers } from './servers.js';

const PATIENCE = { timeout: 60_000, interval: 200 };

describe.skipIf(postgresMissing)('a registry whose PostgreSQL goes away (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });

  it('serves the newest snapshot of every catalog, also of one that no client asked for', async () => {
    const folder = servers.at('data');
    mkdirSync(folder);
    const registry = await openTestRegistry({
      folder,
      config: { databaseUrl: await servers.postgres.createDatabase() },
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
    await servers.postgres.stop();
    const response = await registry.request('/catalogs/quiet/catalog.yaml', {
      headers: { 'Accept-Encoding': 'identity' },
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('SetLabels')]);
    expect((await registry.request('/api/v1/events')).status).toBe(503);
    await registry.close().catch(() => undefined);
  });
});
