import { Random } from '@krmhub/yaml/testing/random';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { checkUpstreamRows } from '../../apps/registry/src/operate/check/upstream.js';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { synchronizeSearch } from '../../apps/registry/src/store/search/synchronize.js';
import { type Connection, openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import type { SyncSql } from '../../apps/registry/src/store/sqlite/sqlite-sql.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { AT, changeOf } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';

/** Search is updated in several transactions: what changes between two of them is in it in the end. */

const GROUP = 'vendor.example.org';
/** More than the entries of a function that a takedown writes to search. */
const CATALOGS = Array.from({ length: 7 }, (_, at) => `c${at}`);
const SHARED = ['Ab', 'Cd', 'Ef'];
/** More changes than a commit writes to search. */
const OTHERS = Array.from({ length: 51 }, (_, at) => `Other${at}`);

let connection: Connection;
let store: RegistryStore;
beforeEach(() => {
  connection = openConnection(':memory:');
  store = createStore(connection);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
});

/** Updates search as the store does, with other work before each of its transactions. */
function interrupted(meanwhile: () => Promise<void>): Promise<boolean> {
  const { sql } = connection;
  const write: SyncSql['write'] = async (work, options) => {
    await meanwhile();
    return sql.write(work, options);
  };
  return synchronizeSearch({ ...sql, write })();
}

/** Lets a transaction end after each of its functions with some probability, and not by time. */
function endTransactions(ends: () => boolean): void {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    if (ends()) now += 1_000;
    return now;
  });
}

/** What the index has that the store does not have, and the other way around. */
async function differences(): Promise<object[]> {
  const found: object[] = [];
  const input = { client: connection.client, progress: async () => undefined };
  for await (const finding of checkUpstreamRows(input as unknown as Parameters<typeof checkUpstreamRows>[0]))
    found.push(finding);
  return found;
}

/** Builds a snapshot of a catalog, in which all entries changed. */
async function build(catalog: string, description: string): Promise<void> {
  await cutUpstream(store, catalog, [
    ...SHARED.map((kind) => ({ kind, description: `${description} of ${catalog}` })),
    ...OTHERS.map((kind) => ({ kind, description })),
  ]);
}

async function publish(kind: string, release: string): Promise<() => Promise<void>> {
  const revision = async () => (await store.function(GROUP, kind))?.revision ?? 0;
  const change = changeOf({ group: GROUP, kind, release }, await revision());
  await store.commitFunction(change);
  return async () => {
    const name = { group: GROUP, kind };
    const { digest } = change.release;
    const takedown = { ...name, release, digest, at: AT, by: 'root', reason: 'bad' };
    await store.commitTakedown({ ...name, expectedRevision: await revision(), takedowns: [takedown] });
  };
}

async function remove(name: string): Promise<void> {
  const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2031-01-01T00:00:00.000Z' };
  const event = { type: 'catalog.deleted' as const, at: AT, by: 'admin', catalog: name };
  await store.deleteCatalog({ name, deletion, event });
}

async function restore(name: string): Promise<void> {
  const event = { type: 'catalog.restored' as const, at: AT, by: 'admin', catalog: name };
  await store.restoreCatalog({ name, at: AT, event });
}

it('includes all entries of a name that a takedown frees after search had passed it', async () => {
  const takeDown = await publish('Ab', '1.0.0');
  for (const catalog of CATALOGS) await build(catalog, 'First');
  await store.synchronizeSearch();
  // The name is one of the changed ones of one catalog, and comes first.
  await build('c0', 'Second');
  endTransactions(() => true);
  let transactions = 0;
  await interrupted(async () => {
    transactions += 1;
    if (transactions === 10) await takeDown();
  });
  expect(transactions).toBeGreaterThan(10);
  expect(await differences()).toEqual([]);
});

it('has nothing of a new catalog that is deleted after search had passed some of its names', async () => {
  await build('c0', 'First');
  endTransactions(() => true);
  let transactions = 0;
  await interrupted(async () => {
    transactions += 1;
    if (transactions === 10) await remove('c0');
  });
  expect(await differences()).toEqual([]);
  expect((await store.search({ limit: 1 })).total).toBe(0);
});

it('includes the other catalogs while one changes all the time', async () => {
  for (const catalog of ['c0', 'c1']) await build(catalog, 'First');
  endTransactions(() => false);
  const searched = connection.client.prepare<[string], { serial: number }>(
    'SELECT searched_serial AS serial FROM catalog WHERE name = ?',
  );
  let builds = 0;
  let buildsBefore: number | undefined;
  await interrupted(async () => {
    if (searched.get('c1')!.serial === 1) buildsBefore ??= builds;
    if (builds === 5) return;
    builds += 1;
    await build('c0', `Next ${builds}`);
  });
  expect(buildsBefore).toBeLessThanOrEqual(2);
  expect(builds).toBe(5);
  expect(await differences()).toEqual([]);
});

it.each([1, 2, 3])(
  'is as the store after batches and other changes in any order: seed %i',
  async (seed) => {
    const random = new Random(seed);
    const takedowns = new Map<string, () => Promise<void>>();
    const deleted = new Set<string>();
    let count = 0;
    const change = async () => {
      count += 1;
      const [kind, catalog] = [random.pick(SHARED), random.pick(CATALOGS)];
      const takeDown = takedowns.get(kind);
      if (random.chance(0.2)) {
        if (deleted.delete(catalog)) await restore(catalog);
        else {
          deleted.add(catalog);
          await remove(catalog);
        }
      } else if (takeDown === undefined) takedowns.set(kind, await publish(kind, `1.0.${count}`));
      else {
        takedowns.delete(kind);
        await takeDown();
      }
    };
    for (const catalog of CATALOGS) await build(catalog, 'First');
    endTransactions(() => random.chance(0.1));
    for (let round = 0; round < 8; round += 1) {
      for (let at = 0; at < 3; at += 1) await change();
      const built = CATALOGS.filter((name) => !deleted.has(name));
      for (const name of random.some(built, 0.3)) await build(name, `Round ${round}`);
      let left = 10;
      await interrupted(async () => {
        if (left > 0 && random.chance(0.4)) {
          left -= 1;
          await change();
        }
      });
      expect(await differences()).toEqual([]);
    }
  },
  60_000,
);
