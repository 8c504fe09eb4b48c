import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../server/metrics.js';
import { openBlobFolder } from '../store/blobs/folder.js';
import type { RegistryStore } from '../store/registry-store.js';
import { openSqliteStore } from '../store/sqlite/store.js';
import { catalogText, startUpstream, type TestUpstream } from '../testing/upstream-server.js';
import type { CatalogRefresher } from './catalog-refresher.js';
import { refresherThread } from './refresher-thread.js';

let folder: string;
let store: RegistryStore;
let upstream: TestUpstream;
let refresher: CatalogRefresher;
let logged: Record<string, unknown>[];
let changes: number;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-refresher-'));
  store = await openSqliteStore(path.join(folder, 'registry.db'));
  await openBlobFolder(path.join(folder, 'copies'));
  upstream = await startUpstream();
  logged = [];
  changes = 0;
});
afterEach(async () => {
  await refresher.stop();
  await store.close();
  await upstream.close();
  await rm(folder, { recursive: true, force: true });
});

function start() {
  const metrics = createMetrics({
    countFunctions: async () => 0,
    sources: () => store.sources(),
    clock: () => new Date(),
    process: false,
  });
  refresher = refresherThread({
    database: { file: path.join(folder, 'registry.db') },
    copiesFolder: path.join(folder, 'copies'),
    fetchingFolder: path.join(folder, 'fetching'),
    settings: { sourceAddresses: ['127.0.0.1'] },
    log: pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) }),
    metrics,
    onChange: () => {
      changes += 1;
    },
  });
  return metrics;
}

async function apply(url: string): Promise<void> {
  const at = new Date().toISOString();
  const recipe = `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ours}
spec: {sources: [{name: theirs, catalog: {url: '${url}'}}]}
`;
  await store.applyRecipe({
    name: 'ours',
    recipe,
    expectedRecipe: undefined,
    sources: [{ source: 'theirs', url }],
    at,
    by: 'admin',
    event: { type: 'catalog.applied', at, by: 'admin', catalog: 'ours' },
  });
}

describe('a refresher in a thread', () => {
  it('syncs due sources when woken, and reports changes, metrics and log lines', async () => {
    const metrics = start();
    upstream.files.set('/catalog.yaml', catalogText({ One: 'first' }));
    await apply(`${upstream.origin}/catalog.yaml`);
    refresher.wake();
    expect(await refresher.waitFor({ catalog: 'ours', milliseconds: 60_000 })).toBe(true);
    expect(await store.sourceEntries('ours', 'theirs')).toHaveLength(1);
    expect(changes).toBe(1);
    expect(logged).toContainEqual(
      expect.objectContaining({ catalog: 'ours', source: 'theirs', entries: 1, msg: 'source changed' }),
    );
    await refresher.refreshNow({ catalog: 'ours', source: 'theirs' });
    expect(changes).toBe(1);
    const text = await metrics.render();
    for (const outcome of ['changed', 'unchanged']) {
      expect(text).toContain(
        `krmhub_source_refreshes_total{catalog="ours",source="theirs",outcome="${outcome}"} 1`,
      );
    }
    await expect(refresher.refreshNow({ catalog: 'ours', source: 'none' })).rejects.toMatchObject({
      code: 'not-found',
    });
  });

  it('stops waiting after the timeout, and cancels its fetches on stop', async () => {
    start();
    const asked = new Promise<void>((resolve) => {
      upstream.misbehave = () => resolve();
    });
    await apply(`${upstream.origin}/slow.yaml`);
    const refreshing = refresher.refreshNow({ catalog: 'ours', source: 'theirs' });
    refreshing.catch(() => undefined);
    await asked;
    expect(await refresher.waitFor({ catalog: 'ours', milliseconds: 50 })).toBe(false);
    await refresher.stop();
    await expect(refreshing).rejects.toMatchObject({ code: 'unavailable' });
    await expect(refresher.refreshNow({ catalog: 'ours', source: 'theirs' })).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect((await store.source('ours', 'theirs'))?.checkedAt).toBeUndefined();
  });
});
