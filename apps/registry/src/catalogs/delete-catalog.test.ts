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
import { checkRegistry } from '../operate/check/check.js';
import { openTeamCatalog, RESTORE_DAYS, TEAM_ADDRESSES, type TeamCatalog } from '../testing/team-catalog.js';

const DAY_MS = 86_400_000;
let team: TeamCatalog;

beforeEach(async () => {
  team = await openTeamCatalog();
});
afterEach(() => team.close());

const found = async (query: string) =>
  (await team.json<SearchResult>(`/api/v1/functions?${query}`)).items.map(({ kind }) => kind);

it('answers 410 with the reason under all addresses of a deleted catalog, and no other', async () => {
  for (const address of TEAM_ADDRESSES) {
    expect([address, (await team.registry.request(address)).status]).toEqual([address, 200]);
  }
  const before = (await team.registry.request('/catalogs/default/catalog.yaml')).headers.get('etag');
  const tombstone = (await (await team.remove()).json()) as CatalogTombstone;
  expect(tombstone).toMatchObject({ name: 'team', by: 'tester', reason: 'merged into default' });
  const period = Date.parse(tombstone.restorableUntil) - Date.parse(tombstone.at);
  expect(period).toBe(RESTORE_DAYS * DAY_MS);
  for (const address of TEAM_ADDRESSES) {
    const response = await team.registry.request(address);
    const body = await response.text();
    expect([address, response.status, body]).toEqual([
      address,
      410,
      expect.stringContaining('merged into default'),
    ]);
  }
  const page = await team.registry.request('/catalogs/team', { headers: { Accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('merged into default')]);
  expect((await team.registry.request('/catalogs/default/catalog.yaml')).headers.get('etag')).toBe(before);
  expect((await team.registry.request('/catalogs/other/catalog.yaml')).status).toBe(404);
});

it('answers 410 to a build of a deleted catalog, also of one that is deleted meanwhile', async () => {
  let isArmed = false;
  const build = (on: TeamCatalog) => on.post('cut', 'team');
  expect((await build(team)).status).toBe(200);
  await team.remove();
  const late = await openTeamCatalog({
    wrapStore: (store) => ({
      ...store,
      // It is read after the catalog was found, and before the build.
      sources: async (name) => {
        if (name === 'team' && isArmed) {
          isArmed = false;
          await late.remove();
        }
        return store.sources(name);
      },
    }),
  });
  isArmed = true;
  try {
    for (const one of [team, late]) {
      const response = await build(one);
      expect([response.status, ((await response.json()) as Problem).detail]).toEqual([
        410,
        expect.stringContaining('merged into default'),
      ]);
    }
    expect(isArmed).toBe(false);
  } finally {
    await late.close();
  }
});

it('excludes a deleted catalog from lists and search, and leaves releases of the registry', async () => {
  expect(await found('catalog=team')).toEqual(['SetLabels', 'Theirs']);
  await team.remove();
  expect(await found('catalog=team')).toEqual([]);
  expect(await found('')).toEqual(['SetLabels']);
  const { facets } = await team.json<SearchResult>('/api/v1/functions');
  expect(facets.catalog).toEqual([{ value: 'default', count: 1 }]);
  expect((await team.registry.request('/api/v1/functions/up.example.com/Theirs')).status).toBe(404);
  const detail = await team.json<FunctionDetail>('/api/v1/functions/example.com/SetLabels');
  expect(detail.catalogs).toEqual(['default']);
  const list = await team.json<CatalogList>('/api/v1/catalogs');
  expect(list.catalogs.map(({ name }) => name)).toEqual(['default']);
  expect(list.deleted).toMatchObject([{ name: 'team', reason: 'merged into default' }]);
  expect((await team.json<SourceList>('/api/v1/sources')).sources).toEqual([]);
  const { repositories } = await team.json<{ repositories: string[] }>('/v2/_catalog');
  expect(repositories).toEqual(['catalogs/default', 'functions/example.com/setlabels']);
  for (const address of ['/', '/catalogs', '/functions/example.com/SetLabels']) {
    const html = await (await team.registry.request(address, { headers: { Accept: 'text/html' } })).text();
    expect([address, html.includes('/catalogs/team')]).toEqual([address, false]);
  }
  const sitemap = await (await team.registry.request('/sitemaps/1.xml')).text();
  expect([sitemap.includes('/catalogs/default<'), sitemap.includes('/catalogs/team')]).toEqual([true, false]);
  // A later publish builds only the other catalogs.
  const published = await team.registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  expect(published.body.catalogs.map(({ catalog }) => catalog)).toEqual(['default']);
});

it('reserves the name, and restores everything within the period', async () => {
  const before = await team.registry.request('/catalogs/team/snapshots/1/catalog.yaml');
  const bytes = await before.text();
  await team.remove();
  const refused = await team.apply();
  expect([refused.status, ((await refused.json()) as Problem).hint]).toEqual([
    409,
    expect.stringContaining('krmhub catalog restore team'),
  ]);
  expect(((await (await team.remove()).json()) as CatalogTombstone).name).toBe('team');
  await team.registry.publish({ kind: 'Later', release: '1.0.0' });
  team.registry.advance(RESTORE_DAYS * DAY_MS - 60_000);
  const response = await team.post('restore');
  expect([response.status, (await response.json()) as RestoreResult]).toMatchObject([
    200,
    { outcome: 'restored', catalog: { name: 'team' } },
  ]);
  expect(((await (await team.post('restore')).json()) as RestoreResult).outcome).toBe('unchanged');
  await team.registry.waitForCatalogs();
  for (const address of TEAM_ADDRESSES) {
    expect([address, (await team.registry.request(address)).status]).toEqual([address, 200]);
  }
  expect(await (await team.registry.request('/catalogs/team/snapshots/1/catalog.yaml')).text()).toBe(bytes);
  expect(await (await team.registry.request('/catalogs/team/catalog.yaml')).text()).toContain('kind: Later');
  expect(await found('catalog=team')).toEqual(['Later', 'SetLabels', 'Theirs']);
  const events = (await team.json<EventPage>('/api/v1/events')).events.map(({ type }) => type);
  expect(events.filter((type) => /deleted|restored/.test(type))).toEqual([
    'catalog.deleted',
    'catalog.restored',
  ]);
});

it('cannot be undone after the period', async () => {
  await team.remove();
  team.registry.advance(RESTORE_DAYS * DAY_MS + 60_000);
  const late = await team.post('restore');
  expect([late.status, ((await late.json()) as Problem).hint]).toEqual([
    410,
    expect.stringContaining('It could be restored until'),
  ]);
  const refused = await team.apply();
  expect([refused.status, ((await refused.json()) as Problem).hint]).toEqual([
    409,
    'Its name stays reserved. Use another name.',
  ]);
});

it('survives a restart and passes fsck, deleted and restored', async () => {
  await team.remove();
  await team.reopen();
  expect((await team.registry.request('/catalogs/team/catalog.yaml')).status).toBe(410);
  await team.registry.waitForCatalogs();
  const problems = async () =>
    (await checkRegistry(team.registry.folder, { startedAt: new Date() })).findings;
  expect(await problems()).toEqual([]);
  expect((await team.post('restore')).status).toBe(200);
  await team.registry.waitForCatalogs();
  expect((await team.registry.request('/catalogs/team/catalog.yaml')).status).toBe(200);
  expect(await problems()).toEqual([]);
});

it('withdraws snapshots of a deleted catalog with a takedown, also after a restore', async () => {
  await team.remove();
  expect((await team.takeDown('1.0.0')).status).toBe(200);
  expect((await team.post('restore')).status).toBe(200);
  await team.registry.waitForCatalogs();
  expect((await team.registry.request('/catalogs/team/snapshots/1/catalog.yaml')).status).toBe(410);
  const restored = await (await team.registry.request('/catalogs/team/catalog.yaml')).text();
  expect([restored.includes('SetLabels'), restored.includes('Theirs')]).toEqual([false, true]);
});

it('accepts concurrent requests, and makes one change', async () => {
  const times = Array.from({ length: 5 });
  const deleted = await Promise.all(times.map(() => team.remove()));
  expect(deleted.map(({ status }) => status)).toEqual(times.map(() => 200));
  const restored = await Promise.all(times.map(() => team.post('restore')));
  expect(restored.map(({ status }) => status)).toEqual(times.map(() => 200));
  const { events } = await team.json<EventPage>('/api/v1/events');
  expect(events.filter(({ type }) => /deleted|restored/.test(type))).toHaveLength(2);
});

it.each([
  ['default', { reason: 'x' }, 409],
  ['missing', { reason: 'x' }, 404],
  ['team', {}, 400],
  ['team', { reason: '' }, 400],
])('refuses to delete %s with %j', async (name, body, status) => {
  expect((await team.post('delete', name, body)).status).toBe(status);
  expect((await team.registry.request('/catalogs/team/catalog.yaml')).status).toBe(200);
  expect((await team.post('restore', 'missing')).status).toBe(404);
});
