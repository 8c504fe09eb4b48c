import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { addProcessMetrics } from './process-metrics.js';

let registry: TestRegistry;
/** What the database does when it is asked for the numbers of the metrics. */
let database: 'answers' | 'fails' | 'hangs';

beforeEach(async () => {
  database = 'answers';
  const away = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (database === 'fails') throw new Error('the database is away');
    if (database === 'hangs') return new Promise(() => undefined);
    return work();
  };
  registry = await openTestRegistry({
    wrapStore: (store) => ({
      ...store,
      countFunctions: () => away(() => store.countFunctions()),
      sources: (...args) => away(() => store.sources(...args)),
      check: () => away(() => store.check()),
    }),
  });
  const { metrics, readiness, processes, paths } = registry.parts;
  addProcessMetrics(metrics.register, {
    version: '1.2.3',
    readiness,
    processes,
    searchLag: () => away(async () => 7),
    dataFolder: `${paths.database}/..`,
  });
});
afterEach(() => {
  database = 'answers';
  return registry.close();
});

async function samples(): Promise<Map<string, number>> {
  const response = await registry.request('/metrics');
  expect(response.status).toBe(200);
  const lines = (await response.text()).split('\n').filter((line) => /^krmhub_/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

describe('the metrics of a process', () => {
  it('say what it is, whether it leads, and whether it is ready', async () => {
    await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
    const found = await samples();
    expect(found.get(`krmhub_build_info{version="1.2.3",node="${process.versions.node}"}`)).toBe(1);
    expect(found.get('krmhub_leader')).toBe(1);
    expect(found.get('krmhub_processes')).toBe(1);
    expect(found.get('krmhub_search_lag_events')).toBe(7);
    expect(found.get('krmhub_functions')).toBe(1);
    for (const check of ['store', 'blobs', 'catalogs']) {
      expect([check, found.get(`krmhub_ready{check="${check}"}`)]).toEqual([check, 1]);
    }
  });

  it.each(['fails', 'hangs'] as const)(
    'are there while the database %s, without what only it knows',
    async (how) => {
      await samples();
      database = how;
      // A readiness result is reused for a second.
      await expect.poll(async () => (await samples()).get('krmhub_ready{check="store"}')).toBe(0);
      const found = await samples();
      expect(found.get('krmhub_leader')).toBe(1);
      expect(found.has('krmhub_functions')).toBe(false);
      expect(found.has('krmhub_search_lag_events')).toBe(false);
      if (how === 'hangs') return;
      database = 'answers';
      await expect.poll(async () => (await samples()).get('krmhub_functions')).toBe(0);
    },
  );

  it('count failed logins, also without a limit', async () => {
    const authorization = 'Bearer nonsense';
    await registry.request('/api/v1/whoami', { headers: { authorization } });
    await registry.request('/api/v1/whoami', { headers: { authorization } });
    expect((await samples()).get('krmhub_failed_logins_total')).toBe(2);
  });

  it('have no catalog that is gone, and none after the process has led', async () => {
    const { metrics } = registry.parts;
    for (const catalog of ['default', 'gone']) {
      metrics.catalogFunctions(catalog, 3);
      metrics.signatureExpires(catalog, 4_000);
    }
    metrics.retainCatalogs(['default']);
    const catalogs = async () =>
      [...(await samples()).keys()]
        .filter((key) => /^krmhub_(catalog_functions|snapshot_sig)/.test(key))
        .sort();
    expect(await catalogs()).toEqual([
      'krmhub_catalog_functions{catalog="default"}',
      'krmhub_snapshot_signature_expiry_timestamp_seconds{catalog="default"}',
    ]);
    metrics.retainCatalogs([]);
    expect(await catalogs()).toEqual([]);
  });

  it.each(['X-Forwarded-For', 'Forwarded'])('are not for clients of a proxy: %s', async (name) => {
    const response = await registry.request('/metrics', { headers: { [name]: '192.0.2.1' } });
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { code: 'forbidden', detail: expect.stringContaining('through a proxy') },
    ]);
    expect((await registry.request('/healthz', { headers: { [name]: '192.0.2.1' } })).status).toBe(200);
  });
});
