import type {
  CatalogList,
  CatalogTombstone,
  EventPage,
  FunctionDetail,
  Problem,
  RestoreResult,
  SearchResult,
  SourceList,
} from '@krmhub/api/model';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkRegistry } from '../check/check.js';
import { openTestRegistry, type TestRegistry } from '../testing/test-registry.js';
import { catalogText, startUpstream, type TestUpstream } from '../testing/upstream-server.js';

const DAY_MS = 86_400_000;
let registry: TestRegistry;
let upstream: TestUpstream;
let bearer: string;

beforeEach(async () => {
  upstream = await startUpstream();
  upstream.files.set('/catalog.yaml', catalogText({ Theirs: 'from upstream' }));
  registry = await openTestRegistry({
    sources: { sourceAddresses: ['127.0.0.1'] },
    config: { catalogRestoreDays: 7 },
  });
  bearer = `Bearer ${(await registry.token({})).secret}`;
  await registry.publish({ kind: 'SetLabels', release: '1.0.0' });
  expect((await apply()).status).toBe(201);
  await registry.request('/api/v1/catalogs/team/cut', {
    method: 'POST',
    headers: { Authorization: bearer },
  });
  await registry.waitForCatalogs();
});
afterEach(async () => {
  await registry.close();
  await upstream.close();
});

const apply = (name = 'team') =>
  registry.request(`/api/v1/catalogs/${name}`, {
    method: 'PUT',
    headers: { Authorization: bearer, 'Content-Type': 'application/yaml' },
    body: `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata: {name: ${name}}
spec:
  sources:
  - {name: ours, functions: {}}
  - {name: theirs, catalog: {url: "${upstream.origin}/catalog.yaml"}}
`,
  });
const post = (action: 'delete' | 'restore', name = 'team', body?: object) =>
  registry.request(`/api/v1/catalogs/${name}/${action}`, {
    method: 'POST',
    headers: { Authorization: bearer, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const remove = () => post('delete', 'team', { reason: 'merged into default' });
const json = async <T>(target: string) => (await (await registry.request(target)).json()) as T;
const found = async (query: string) =>
  (await json<SearchResult>(`/api/v1/functions?${query}`)).items.map(({ kind }) => kind);

const ADDRESSES = [
  '/catalogs/team/catalog.yaml',
  '/catalogs/team/catalog.json',
  '/catalogs/team/catalog.yaml?kind=KRMFunctionCatalog',
  '/catalogs/team/catalog.yaml?profile=porch',
  '/catalogs/team/functions/example.com/SetLabels.yaml',
  '/catalogs/team/snapshot.sigstore.json',
  '/catalogs/team/snapshots',
  '/catalogs/team/snapshots/1/catalog.yaml',
  '/catalogs/team/snapshots/1/snapshot.json',
  '/catalogs/team/snapshots/1/report.json',
  '/catalogs/team/snapshots/1/snapshot.sigstore.json',
  '/api/v1/catalogs/team',
  '/api/v1/catalogs/team/report',
  '/api/v1/catalogs/team/functions/example.com/SetLabels',
  '/api/v1/sources?catalog=team',
  '/v2/catalogs/team/manifests/1',
  '/v2/catalogs/team/tags/list',
];

it('answers 410 with the reason under all addresses of a deleted catalog, and no other', async () => {
  for (const address of ADDRESSES) {
    expect([address, (await registry.request(address)).status]).toEqual([address, 200]);
  }
  const before = (await registry.request('/catalogs/default/catalog.yaml')).headers.get('etag');
  const tombstone = (await (await remove()).json()) as CatalogTombstone;
  expect(tombstone).toMatchObject({ name: 'team', by: 'tester', reason: 'merged into default' });
  const period = Date.parse(tombstone.restorableUntil) - Date.parse(tombstone.at);
  expect(period).toBe(7 * DAY_MS);
  for (const address of ADDRESSES) {
    const response = await registry.request(address);
    const body = await response.text();
    expect([address, response.status, body]).toEqual([
      address,
      410,
      expect.stringContaining('merged into default'),
    ]);
  }
  const page = await registry.request('/catalogs/team', { headers: { Accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('merged into default')]);
  expect((await registry.request('/catalogs/default/catalog.yaml')).headers.get('etag')).toBe(before);
  expect((await registry.request('/catalogs/other/catalog.yaml')).status).toBe(404);
});

it('excludes a deleted catalog from lists and search, and leaves releases of the registry', async () => {
  expect(await found('catalog=team')).toEqual(['SetLabels', 'Theirs']);
  await remove();
  expect(await found('catalog=team')).toEqual([]);
  expect(await found('')).toEqual(['SetLabels']);
  const { facets } = await json<SearchResult>('/api/v1/functions');
  expect(facets.catalog).toEqual([{ value: 'default', count: 1 }]);
  expect((await registry.request('/api/v1/functions/up.example.com/Theirs')).status).toBe(404);
  const detail = await json<FunctionDetail>('/api/v1/functions/example.com/SetLabels');
  expect(detail.catalogs).toEqual(['default']);
  const list = await json<CatalogList>('/api/v1/catalogs');
  expect(list.catalogs.map(({ name }) => name)).toEqual(['default']);
  expect(list.deleted).toMatchObject([{ name: 'team', reason: 'merged into default' }]);
  expect((await json<SourceList>('/api/v1/sources')).sources).toEqual([]);
  const { repositories } = await json<{ repositories: string[] }>('/v2/_catalog');
  expect(repositories).toEqual(['catalogs/default', 'functions/example.com/setlabels']);
  for (const address of ['/', '/catalogs', '/functions/example.com/SetLabels']) {
    const html = await (await registry.request(address, { headers: { Accept: 'text/html' } })).text();
    expect([address, html.includes('/catalogs/team')]).toEqual([address, false]);
  }
  // A later publish builds only the other catalogs.
  const published = await registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  expect(published.body.catalogs.map(({ catalog }) => catalog)).toEqual(['default']);
});

it('reserves the name, and restores everything within the period', async () => {
  const before = await registry.request('/catalogs/team/snapshots/1/catalog.yaml');
  const bytes = await before.text();
  await remove();
  const refused = await apply();
  expect([refused.status, ((await refused.json()) as Problem).hint]).toEqual([
    409,
    expect.stringContaining('krmhub catalog restore team'),
  ]);
  expect(((await (await remove()).json()) as CatalogTombstone).name).toBe('team');
  await registry.publish({ kind: 'Later', release: '1.0.0' });
  registry.advance(7 * DAY_MS - 60_000);
  const response = await post('restore');
  expect([response.status, (await response.json()) as RestoreResult]).toMatchObject([
    200,
    { outcome: 'restored', catalog: { name: 'team' } },
  ]);
  expect(((await (await post('restore')).json()) as RestoreResult).outcome).toBe('unchanged');
  await registry.waitForCatalogs();
  for (const address of ADDRESSES) {
    expect([address, (await registry.request(address)).status]).toEqual([address, 200]);
  }
  expect(await (await registry.request('/catalogs/team/snapshots/1/catalog.yaml')).text()).toBe(bytes);
  expect(await (await registry.request('/catalogs/team/catalog.yaml')).text()).toContain('kind: Later');
  expect(await found('catalog=team')).toEqual(['Later', 'SetLabels', 'Theirs']);
  const events = (await json<EventPage>('/api/v1/events')).events.map(({ type }) => type);
  expect(events.filter((type) => /deleted|restored/.test(type))).toEqual([
    'catalog.deleted',
    'catalog.restored',
  ]);
});

it('cannot be undone after the period', async () => {
  await remove();
  registry.advance(7 * DAY_MS + 60_000);
  const late = await post('restore');
  expect([late.status, ((await late.json()) as Problem).hint]).toEqual([
    410,
    expect.stringContaining('It could be restored until'),
  ]);
  expect((await apply()).status).toBe(409);
});

it('survives a restart and passes fsck, deleted and restored', async () => {
  await remove();
  registry = await registry.reopen();
  bearer = `Bearer ${(await registry.token({})).secret}`;
  expect((await registry.request('/catalogs/team/catalog.yaml')).status).toBe(410);
  await registry.waitForCatalogs();
  const problems = async () => (await checkRegistry(registry.folder, { startedAt: new Date() })).findings;
  expect(await problems()).toEqual([]);
  expect((await post('restore')).status).toBe(200);
  await registry.waitForCatalogs();
  expect((await registry.request('/catalogs/team/catalog.yaml')).status).toBe(200);
  expect(await problems()).toEqual([]);
});

it('withdraws snapshots of a deleted catalog with a takedown, also after a restore', async () => {
  await remove();
  const takedown = await registry.request('/api/v1/functions/example.com/SetLabels/releases/1.0.0/takedown', {
    method: 'POST',
    headers: { Authorization: bearer, 'Content-Type': 'application/json' },
    body: JSON.stringify({ reason: 'leak' }),
  });
  expect(takedown.status).toBe(200);
  expect((await post('restore')).status).toBe(200);
  await registry.waitForCatalogs();
  expect((await registry.request('/catalogs/team/snapshots/1/catalog.yaml')).status).toBe(410);
  const restored = await (await registry.request('/catalogs/team/catalog.yaml')).text();
  expect([restored.includes('SetLabels'), restored.includes('Theirs')]).toEqual([false, true]);
});

it('accepts concurrent requests, and makes one change', async () => {
  const times = Array.from({ length: 5 });
  const deleted = await Promise.all(times.map(() => remove()));
  expect(deleted.map(({ status }) => status)).toEqual(times.map(() => 200));
  const restored = await Promise.all(times.map(() => post('restore')));
  expect(restored.map(({ status }) => status)).toEqual(times.map(() => 200));
  const { events } = await json<EventPage>('/api/v1/events');
  expect(events.filter(({ type }) => /deleted|restored/.test(type))).toHaveLength(2);
});

it.each([
  ['default', { reason: 'x' }, 409],
  ['missing', { reason: 'x' }, 404],
  ['team', {}, 400],
  ['team', { reason: '' }, 400],
])('refuses to delete %s with %j', async (name, body, status) => {
  expect((await post('delete', name, body)).status).toBe(status);
  expect((await registry.request('/catalogs/team/catalog.yaml')).status).toBe(200);
  expect((await post('restore', 'missing')).status).toBe(404);
});
