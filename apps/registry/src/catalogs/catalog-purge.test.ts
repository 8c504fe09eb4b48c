import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { constants, inflateRawSync } from 'node:zlib';
import type { CatalogList, CatalogTombstone, EventPage, Problem, RevocationPage } from '@krmhub/api/model';
import { afterEach, expect, it } from 'vitest';
import { backupRegistry } from '../operate/backup/backup.js';
import { restoreRegistry } from '../operate/backup/restore.js';
import { checkRegistry } from '../operate/check/check.js';
import { dataPaths } from '../store/data-folder.js';
import { openDatabaseState } from '../store/sqlite/state.js';
import { openTeamCatalog, RESTORE_DAYS, TEAM_ADDRESSES, type TeamCatalog } from '../testing/team-catalog.js';
import { openTestRegistry } from '../testing/test-registry.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openTeam(wrap: Parameters<typeof openTeamCatalog>[0] = {}): Promise<TeamCatalog> {
  const team = await openTeamCatalog(wrap);
  closing.push(() => team.close());
  return team;
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'krmhub-purge-'));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function deleteLongAgo(team: TeamCatalog): Promise<void> {
  expect((await team.remove()).status).toBe(200);
  team.registry.advance(RESTORE_DAYS * DAY_MS + 60_000);
}

const run = (team: TeamCatalog) => team.registry.parts.catalogPurge.run();
const damageIn = async (folder: string) =>
  (await checkRegistry(folder, { startedAt: new Date() })).findings.filter(
    ({ severity }) => severity === 'damage',
  );

/** Counts the rows of the catalog `team` in each table with rows of catalogs. */
function rowsOfTeam(folder: string): Record<string, number> {
  const { client, close } = openDatabaseState(dataPaths(folder).database);
  try {
    const count = (table: string, condition: string) =>
      client.prepare<[], number>(`SELECT count(*) FROM ${table} WHERE ${condition}`).pluck().get()!;
    const ofCatalog = [
      'snapshot',
      'snapshot_signature',
      'catalog_segment',
      'catalog_function',
      'catalog_source',
      'upstream_entry',
    ];
    const ofRepository = ['oci_manifest', 'oci_blob', 'oci_tag', 'oci_reference'];
    return Object.fromEntries([
      ...ofCatalog.map((table) => [table, count(table, "catalog = 'team'")]),
      ...ofRepository.map((table) => [table, count(table, "repository = 'catalogs/team'")]),
      ['oci_repository', count('oci_repository', "name = 'catalogs/team'")],
      ['recipe', count('catalog', "name = 'team' AND recipe <> ''")],
      ['upstream segment', segmentsWith(client, 'from upstream')],
      ['upstream rendered entry', count('entry', "json LIKE '%from upstream%'")],
    ]);
  } finally {
    close();
  }
}

/** Counts the segments with a text. */
function segmentsWith(client: ReturnType<typeof openDatabaseState>['client'], text: string): number {
  const all = client.prepare<[], Buffer>('SELECT yaml FROM segment').pluck().all();
  const plain = (bytes: Buffer) => inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  return all.filter((bytes) => plain(bytes).includes(text)).length;
}

it('deletes all data after the period, but not the tombstone and what others use', async () => {
  const team = await openTeam();
  const { registry } = team;
  const profile = await registry.request('/catalogs/team/catalog.yaml?profile=porch');
  expect(profile.status).toBe(200);
  const before = rowsOfTeam(registry.folder);
  expect(Object.entries(before).filter(([, rows]) => rows === 0)).toEqual([]);
  const bytes = await (await registry.request('/catalogs/default/catalog.yaml')).text();
  await team.remove();
  registry.advance(RESTORE_DAYS * DAY_MS - 60_000);
  expect(await run(team)).toEqual([]);
  expect(rowsOfTeam(registry.folder)).toEqual(before);
  registry.advance(120_000);
  const profiles = async () => {
    const digests: string[] = [];
    for await (const { digest } of (await listProfiles(registry.folder)).blobs()) digests.push(digest);
    return digests.length;
  };
  expect(await profiles()).toBeGreaterThan(0);
  expect(await run(team)).toEqual(['team']);
  expect(await run(team)).toEqual([]);
  expect(await profiles()).toBe(0);
  // A build that just stored the same entry may refer to it soon.
  const upstream = { 'upstream rendered entry': 1 };
  const nothing = Object.fromEntries(Object.keys(before).map((table) => [table, 0]));
  expect(rowsOfTeam(registry.folder)).toEqual({ ...nothing, ...upstream });
  registry.advance(2 * HOUR_MS);
  await run(team);
  expect(rowsOfTeam(registry.folder)).toEqual(nothing);
  expect(await damageIn(registry.folder)).toEqual([]);

  for (const address of TEAM_ADDRESSES) {
    const response = await registry.request(address);
    expect([address, response.status, await response.text()]).toEqual([
      address,
      410,
      expect.stringContaining('merged into default'),
    ]);
  }
  const list = await team.json<CatalogList>('/api/v1/catalogs');
  expect(list.deleted).toMatchObject([{ name: 'team', purgedAt: expect.any(String) }]);
  for (const [response, status] of [
    [await team.post('restore'), 410],
    [await team.apply(), 409],
  ] as const) {
    const { hint } = (await response.json()) as Problem;
    expect([response.status, hint]).toEqual([
      status,
      expect.stringMatching(/Use another (?:catalog|name)\.$/),
    ]);
  }
  expect(((await (await team.remove()).json()) as CatalogTombstone).purgedAt).toBeDefined();
  expect(await (await registry.request('/catalogs/default/catalog.yaml')).text()).toBe(bytes);
  const published = await registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  expect(published.body.catalogs.map(({ catalog }) => catalog)).toEqual(['default']);
});

async function listProfiles(folder: string) {
  const { readBlobFolder } = await import('../store/blobs/reader.js');
  return readBlobFolder(dataPaths(folder).profiles);
}

it('uses no copy of its sources any more', async () => {
  const team = await openTeam();
  const { registry } = team;
  const copies = async () => {
    const digests: string[] = [];
    for await (const digest of registry.parts.copies.list()) digests.push(digest);
    return digests.length;
  };
  expect(await copies()).toBe(1);
  await deleteLongAgo(team);
  await run(team);
  expect(await registry.parts.store.sourceCopyDigests()).toEqual(new Set());
  // The next syncs delete the file: a backup may be reading it.
});

it('continues after it was interrupted at any point, and the folder has no damage meanwhile', async () => {
  let left = Number.POSITIVE_INFINITY;
  const step =
    <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      left -= 1;
      if (left < 0) throw new Error('stopped here');
      return work(...args);
    };
  const team = await openTeam({
    wrapStore: (store) => ({
      ...store,
      startPurge: step(store.startPurge),
      deleteWithdrawnProfiles: step(store.deleteWithdrawnProfiles),
      purgeRows: step(store.purgeRows),
    }),
  });
  await deleteLongAgo(team);
  // Each attempt gets one step more, until it reaches the rows. Then each deletes one kind of rows.
  let attempts = 0;
  for (let outcome: unknown = 'stopped here'; outcome === 'stopped here'; attempts += 1) {
    expect(attempts).toBeLessThan(50);
    left = Math.min(attempts, 3);
    outcome = await run(team).catch((error: Error) => error.message);
    expect(await damageIn(team.registry.folder)).toEqual([]);
    expect((await team.post('restore')).status).toBe(410);
  }
  expect(attempts).toBeGreaterThan(5);
  expect(Object.values(rowsOfTeam(team.registry.folder)).filter((rows) => rows > 0)).toEqual([1]);
});

it('finishes after a restart, and takedowns meanwhile change what is left', async () => {
  let left = 2;
  const team = await openTeam({
    wrapStore: (store) => ({
      ...store,
      purgeRows: async (...args) => {
        left -= 1;
        if (left < 0) throw new Error('stopped here');
        return store.purgeRows(...args);
      },
    }),
  });
  await deleteLongAgo(team);
  await expect(run(team)).rejects.toThrow('stopped here');
  expect(rowsOfTeam(team.registry.folder)).toMatchObject({ snapshot: 1, recipe: 0 });
  expect((await team.takeDown('1.0.0')).status).toBe(200);
  expect(await damageIn(team.registry.folder)).toEqual([]);
  // The clock of the new registry is before the end of the period.
  await team.reopen();
  expect((await team.post('restore')).status).toBe(410);
  expect(await run(team)).toEqual(['team']);
  const { 'upstream rendered entry': _, ...rows } = rowsOfTeam(team.registry.folder);
  expect(Object.entries(rows).filter(([, count]) => count > 0)).toEqual([]);
  expect(await damageIn(team.registry.folder)).toEqual([]);
  expect((await team.registry.request('/catalogs/team/catalog.yaml')).status).toBe(410);
});

it('takes down a release of a catalog that is deleted or purged', async () => {
  const team = await openTeam();
  await team.registry.publish({ kind: 'SetLabels', release: '1.1.0' });
  await team.registry.publish({ kind: 'SetLabels', release: '1.2.0', description: 'A secret.' });
  await deleteLongAgo(team);
  const secrets = () => {
    const { client, close } = openDatabaseState(dataPaths(team.registry.folder).database);
    try {
      return segmentsWith(client, 'A secret.');
    } finally {
      close();
    }
  };
  // Of both catalogs.
  expect(secrets()).toBe(2);
  expect((await team.takeDown('1.2.0')).status).toBe(200);
  expect(secrets()).toBe(0);
  expect((await team.takeDown('1.0.0')).status).toBe(200);
  expect(await run(team)).toEqual(['team']);
  expect((await team.takeDown('1.1.0')).status).toBe(200);
  expect(await damageIn(team.registry.folder)).toEqual([]);
});

it.each(['deleted', 'half purged', 'purged'])(
  'keeps a %s catalog through a backup and a restore',
  async (state) => {
    let left = state === 'half purged' ? 4 : Number.POSITIVE_INFINITY;
    const team = await openTeam({
      wrapStore: (store) => ({
        ...store,
        purgeRows: async (...args) => {
          left -= 1;
          if (left < 0) throw new Error('stopped here');
          return store.purgeRows(...args);
        },
      }),
    });
    await deleteLongAgo(team);
    if (state !== 'deleted') await run(team).catch(() => undefined);
    const folder = await newFolder();
    const backup = path.join(folder, 'backup');
    const restored = path.join(folder, 'restored');
    await backupRegistry({ dataFolder: team.registry.folder, out: backup, now: new Date() });
    await restoreRegistry({ backup, dataFolder: restored, takedowns: [], now: new Date() });
    expect(await damageIn(restored)).toEqual([]);
    const registry = await openTestRegistry({ folder: restored });
    closing.push(() => registry.close());
    const response = await registry.request('/catalogs/team/catalog.yaml');
    expect([response.status, await response.text()]).toEqual([
      410,
      expect.stringContaining('merged into default'),
    ]);
    await registry.waitForCatalogs();
    registry.advance(RESTORE_DAYS * DAY_MS + 120_000);
    expect(await registry.parts.catalogPurge.run()).toEqual(state === 'purged' ? [] : ['team']);
    const { recipe, snapshot, catalog_source: sources } = rowsOfTeam(restored);
    expect([recipe, snapshot, sources]).toEqual([0, 0, 0]);
    expect(await damageIn(restored)).toEqual([]);
  },
);

it('lists deleted and restored catalogs in the revocation feed', async () => {
  const team = await openTeam();
  await team.remove();
  await team.post('restore');
  const { revocations } = await team.json<RevocationPage>('/api/v1/revocations');
  expect(revocations.map(({ type, catalog, reason }) => [type, catalog, reason])).toEqual([
    ['catalog.deleted', 'team', 'merged into default'],
    ['catalog.restored', 'team', undefined],
  ]);
  const { events } = await team.json<EventPage>('/api/v1/events?limit=1000');
  expect(events).toEqual(expect.arrayContaining(revocations));
});

it('never purges a catalog that is restored or still in search', async () => {
  const team = await openTeam();
  const { store } = team.registry.parts;
  await team.remove();
  const later = new Date(Date.now() + (RESTORE_DAYS + 1) * DAY_MS).toISOString();
  expect(await store.catalogsToPurge(later)).toEqual(['team']);
  expect((await team.post('restore')).status).toBe(200);
  expect(await store.catalogsToPurge(later)).toEqual([]);
  expect(await store.startPurge('team', later)).toBe(false);
  expect(await store.purgeRows('team', later)).toBe(false);
  expect(await store.startPurge('default', later)).toBe(false);
  // Without a pass of the builder, search still has its functions.
  const deletion = { at: later, by: 'admin', reason: 'x', restorableUntil: later };
  const event = { type: 'catalog.deleted' as const, at: later, by: 'admin', catalog: 'team' };
  await store.deleteCatalog({ name: 'team', deletion, event });
  expect(await store.startPurge('team', later)).toBe(false);
  await team.registry.waitForCatalogs();
  expect(await store.startPurge('team', later)).toBe(true);
});
