import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { SearchFollower } from '../../apps/registry/src/store/search/follow/follower.js';
import { refresh } from '../../apps/registry/src/store/search/upstream-rows.js';
import type { Sql } from '../../apps/registry/src/store/sql/sql.js';
import { text } from '../../apps/registry/src/store/sql/statement.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { AT, changeOf } from './sample-records.js';
import { cutUpstream, type SamplePlace } from './sample-upstream.js';

/** A function has a row in search for each different entry in a catalog: one step of search has a limited number. */

const CATALOGS = Array.from({ length: 13 }, (_, at) => `c${String(at).padStart(2, '0')}`);
const GROUP = 'vendor.example.org';

let folder: string;
let sql: Sql;
let store: RegistryStore;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-entries-'));
  const connection = openConnection(path.join(folder, 'registry.db'));
  ({ sql } = connection);
  store = createStore(connection);
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** Cuts a snapshot of each catalog, whose entries differ. */
async function cutAll(kinds: readonly string[], others: readonly SamplePlace[] = []): Promise<void> {
  for (const catalog of CATALOGS) {
    const places = kinds.map((kind): SamplePlace => ({ kind, description: `The ${kind} of ${catalog}.` }));
    await cutUpstream(store, catalog, [...places, ...others]);
  }
}

it('adds a few entries of a function at a time, those of displayed catalogs first', async () => {
  // More changes than a commit writes to search.
  const others = Array.from({ length: 51 }, (_, at): SamplePlace => ({ kind: `Other${at}` }));
  await cutAll(['Shared'], others);
  const add = (atMost: number) => sql.write(() => refresh(GROUP, 'Shared', atMost));
  const described = async () =>
    (await store.search({ limit: 9, kind: ['Shared'] })).items.map(({ description }) => description);
  expect(await described()).toEqual([]);
  for (const added of [5, 5, 3, 0]) {
    expect(await add(5)).toBe(added);
    expect(await described()).toEqual(['The Shared of c00.']);
  }
  await store.synchronizeSearch();
  expect((await store.search({ limit: 1 })).total).toBe(52);
});

it('includes with a commit what earlier snapshots of other catalogs left, up to a limit', async () => {
  const others = Array.from({ length: 51 }, (_, at): SamplePlace => ({ kind: `Other${at}` }));
  const kinds = Array.from({ length: 4 }, (_, at) => `Shared${at}`);
  await cutAll(kinds, others);
  const searched = async () => (await store.search({ limit: 1, text: 'shared' })).total;
  expect(await searched()).toBe(0);
  // 4 kinds have 13 entries each.
  await cutUpstream(
    store,
    'new',
    kinds.map((kind) => ({ kind })),
  );
  expect(await searched()).toBe(4);
  const isBehind = `SELECT count(*) AS behind FROM catalog WHERE name = 'new' AND searched_serial < 1`;
  expect(await sql.read(() => text<{ behind: number }>(isBehind).first())).toEqual({ behind: 1 });
  await store.synchronizeSearch();
  expect(await sql.read(() => text<{ behind: number }>(isBehind).first())).toEqual({ behind: 0 });
});

it('includes some of them with the takedown of the last release, and the others when it is synchronized', async () => {
  await cutAll(['Shared', 'Other']);
  const change = changeOf({ group: GROUP, kind: 'Shared' });
  await store.commitFunction(change);
  const count = async (of: string) => Number((await sql.read(() => text<{ n: number }>(of).first()))!.n);
  const rows = () => count(`SELECT count(*) AS n FROM upstream_function WHERE kind = 'Shared'`);
  const behind = () =>
    count(`SELECT count(*) AS n FROM catalog WHERE searched_serial <
      (SELECT max(serial) FROM snapshot WHERE catalog = name)`);
  expect([await rows(), await behind()]).toEqual([0, 0]);
  const found = async () =>
    (await store.search({ limit: 9, kind: ['Shared'] })).items.map(({ description, release }) => [
      description,
      release,
    ]);
  const takedown = {
    ...{ group: GROUP, kind: 'Shared', expectedRevision: 1 },
    takedowns: [
      {
        ...{ group: GROUP, kind: 'Shared', release: change.release.release, digest: change.release.digest },
        ...{ at: AT, by: 'root', reason: 'bad' },
      },
    ],
  };
  await store.commitTakedown(takedown, { dryRun: true });
  expect([await rows(), await behind()]).toEqual([0, 0]);
  await store.commitTakedown(takedown);
  expect(await rows()).toBe(5);
  expect(await behind()).toBe(1);
  expect(await found()).toEqual([['The Shared of c00.', undefined]]);
  // A process that is killed continues at the next start.
  await store.close();
  const connection = openConnection(path.join(folder, 'registry.db'));
  ({ sql } = connection);
  store = createStore(connection);
  await store.synchronizeSearch();
  expect([await rows(), await behind()]).toEqual([CATALOGS.length, 0]);
  expect(await found()).toEqual([['The Shared of c00.', undefined]]);
  for (const catalog of CATALOGS) {
    const query = { limit: 9, catalog: [catalog], sort: 'name' } as const;
    expect((await store.search(query)).items.map(({ kind }) => kind)).toEqual(['Other', 'Shared']);
  }
});

it('fills an index in another file with a limited number of entries in a transaction', async () => {
  const kinds = Array.from({ length: 10 }, (_, at) => `Shared${at}`);
  await cutAll(kinds);
  await store.synchronizeSearch();
  let reads = 0;
  const counted: Sql = {
    ...sql,
    read: (work) => {
      reads += 1;
      return sql.read(work);
    },
  };
  const log = pino({ level: 'silent' });
  const follower = new SearchFollower({ record: counted, file: path.join(folder, 'search.db'), log });
  try {
    await follower.synchronizeSearch();
    // 130 entries of 10 functions: 100, and then the others.
    expect(reads).toBe(2);
    for (const catalog of CATALOGS) {
      const query = { limit: 20, catalog: [catalog], sort: 'name' } as const;
      expect((await follower.search(query)).items).toEqual((await store.search(query)).items);
    }
  } finally {
    await follower.close();
  }
});
