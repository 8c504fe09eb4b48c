import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { SearchQuery } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import {
  type FollowerOptions,
  SearchFollower,
} from '../../apps/registry/src/store/search/follow/follower.js';
import { searchThreads } from '../../apps/registry/src/store/search/search-threads.js';
import type { Sql } from '../../apps/registry/src/store/sql/sql.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { Database } from '../../apps/registry/src/store/sqlite/driver.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { functionContract } from './function-store.js';
import { takedownContract } from './function-store-takedowns.js';
import { withdrawnContract } from './function-store-withdrawn.js';
import { RandomRegistry } from './random-registry.js';
import type { RegistryStoreHarness } from './registry-store.js';
import { AT, changeOf, takeDownBytes } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';
import { searchAlternativesContract } from './search-alternatives.js';
import { searchOwnersContract } from './search-owners.js';
import { searchSeenContract } from './search-seen.js';
import { searchContract } from './search-store.js';
import { searchPagesContract } from './search-store-pages.js';
import { upstreamContract } from './search-store-upstream.js';
import { searchWalksContract } from './search-walks.js';
import { searchWordsContract } from './search-words.js';
import { catalogContract } from './snapshot-store.js';
import { lifecycleContract } from './store-lifecycle.js';

/** One of the seeds, and all of them in the campaign: each takes seconds. */
const seeds = (...all: number[]) => (process.env.KRMHUB_TEST_FULL_SIZE === undefined ? all.slice(0, 1) : all);

const logged: string[] = [];
const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) });
let folder: string;
let record: RegistryStore;
let sql: Sql;
let follower: SearchFollower | undefined;
const index = () => path.join(folder, 'search.db');
/** The registry with its own search. */
const openRecord = () => {
  const connection = openConnection(path.join(folder, 'registry.db'));
  sql = connection.sql;
  record = createStore(connection);
};
const openFollower = (options: Partial<FollowerOptions> = {}): SearchFollower => {
  follower = new SearchFollower({ record: sql, file: index(), log, ...options });
  return follower;
};
const closeFollower = async () => {
  await follower?.close();
  follower = undefined;
};

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-follower-'));
  logged.length = 0;
  openRecord();
});
afterEach(async () => {
  await closeFollower();
  await record.close();
  await rm(folder, { recursive: true, force: true });
});

const QUERIES: SearchQuery[] = [
  { limit: 100, text: 'number' },
  { limit: 100, text: 'set l' },
  { limit: 100 },
  { limit: 100, sort: 'newest' },
  { limit: 100, text: 'number', sort: 'name' },
  { limit: 100, text: 'setlabels fruit', sort: 'name' },
  { limit: 100, text: 'lables', sort: 'newest' },
  { limit: 100, text: 'many4', tag: ['mutator'], sort: 'name' },
  { limit: 3, catalog: ['default', 'zoo'] },
  { limit: 100, catalog: ['another'], kind: ['peelbanana', 'many7'] },
];

/** The registry's own search first: it need not read what the follower marks as read. */
async function synchronize(): Promise<boolean> {
  await record.synchronizeSearch();
  return follower!.synchronizeSearch();
}

/** Expects the index to find what the registry's own search finds. */
async function expectSame(searched: SearchFollower = follower!): Promise<void> {
  await record.synchronizeSearch();
  for (const query of QUERIES) {
    const { next, ...found } = await searched.search(query);
    const { next: expectedNext, ...expected } = await record.search(query);
    expect([query, found]).toEqual([query, expected]);
    expect(next === undefined).toBe(expectedNext === undefined);
  }
  const name = { group: 'example.com', kind: 'SetLable' };
  expect(await searched.nearFunctions(name)).toEqual(await record.nearFunctions(name));
}

describe('SQLite with a search index in another file is a registry store', () => {
  let harness: RegistryStoreHarness;
  const followed = async (): Promise<RegistryStore> => {
    const searched = openFollower();
    await searched.synchronizeSearch();
    return {
      ...record,
      search: (query) => searched.search(query),
      nearFunctions: (name) => searched.nearFunctions(name),
      synchronizeSearch: (signal) => searched.synchronizeSearch(signal),
    };
  };
  beforeEach(async () => {
    harness = {
      store: await followed(),
      reopen: async () => {
        await closeFollower();
        await record.close();
        openRecord();
        harness.store = await followed();
        return harness.store;
      },
      join: async () => {
        const other = new SearchFollower({ record: sql, file: path.join(folder, 'other.db'), log });
        await other.synchronizeSearch();
        return other;
      },
      dispose: async () => undefined,
    };
  });
  functionContract(() => harness.store);
  searchContract(() => harness.store);
  searchPagesContract(() => harness.store);
  catalogContract(() => harness.store);
  lifecycleContract(() => harness);
  takedownContract(() => harness);
  withdrawnContract(() => harness);
  upstreamContract(() => harness);
  searchWalksContract(() => harness);
  searchWordsContract(() => harness);
  searchAlternativesContract(() => harness);
  searchSeenContract(() => harness);
  searchOwnersContract(() => harness);
});

describe('a search index in another file', () => {
  it.each(seeds(1, 2, 3))('finds what the registry finds after random changes (%i)', async (seed) => {
    const random = new Random(seed);
    const registry = new RandomRegistry(record, random);
    openFollower();
    for (let step = 0; step < 90; step += 1) {
      for (let changes = random.below(4); changes >= 0; changes -= 1) await registry.change();
      await follower!.search({ limit: 1 });
      if (random.chance(0.1)) {
        await closeFollower();
        openFollower();
      }
      if (random.chance(0.6)) continue;
      expect(await synchronize()).toBe(true);
      await expectSame();
    }
  });

  it.each(seeds(14, 15, 16))('finds it too if there are changes between its reads (%i)', async (seed) => {
    const random = new Random(seed);
    const registry = new RandomRegistry(record, random);
    let changes = 0;
    const changing: Sql = {
      ...sql,
      readOne: async (work) => {
        for (; changes > 0 && random.chance(0.5); changes -= 1) await registry.change();
        return sql.readOne(work);
      },
      // The registry's own search would take what is marked for read.
      write: async () => Promise.reject(new Error('never called')),
    };
    openFollower({ record: changing });
    for (let step = 0; step < 40; step += 1) {
      changes = 8;
      await follower!.search({ limit: 1 });
      if (random.chance(0.3)) await follower!.synchronizeSearch().catch(() => undefined);
      changes = 0;
      await synchronize();
      await expectSame();
    }
  });

  it('has all of a catalog that was deleted and restored between its reads', async () => {
    await cutUpstream(record, 'zoo', [{ kind: 'Weigh' }]);
    let reads: (() => Promise<unknown>)[] = [];
    const [deleted, restored] = (['catalog.deleted', 'catalog.restored'] as const).map((type) => ({
      type,
      at: AT,
      by: 'admin',
      catalog: 'zoo',
    }));
    const changing: Sql = {
      ...sql,
      readOne: async (work) => {
        await reads.shift()?.();
        return sql.readOne(work);
      },
    };
    openFollower({ record: changing });
    await synchronize();
    const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: '2032-01-01T00:00:00.000Z' };
    await record.commitFunction(changeOf({ group: 'vendor.example.org', kind: 'Weigh' }));
    const read = async () => undefined;
    reads = [read, read, () => record.deleteCatalog({ name: 'zoo', deletion, event: deleted! })];
    await follower!.search({ limit: 1 });
    expect(reads).toHaveLength(0);
    await record.restoreCatalog({ name: 'zoo', at: AT, event: restored! });
    await synchronize();
    await expectSame();
  });

  it.each(seeds(4, 5, 6))('continues where it was interrupted (%i)', async (seed) => {
    const random = new Random(seed);
    const registry = new RandomRegistry(record, random);
    let reads = Number.POSITIVE_INFINITY;
    const countRead = () => {
      reads -= 1;
      if (reads <= 0) throw new Error('the registry is gone');
    };
    const failing: Sql = {
      ...sql,
      read: async (work) => {
        countRead();
        return sql.read(work);
      },
      readOne: async (work) => {
        countRead();
        return sql.readOne(work);
      },
    };
    openFollower();
    const other = new Database(index());
    other.exec('CREATE TABLE fault (writes INTEGER NOT NULL); INSERT INTO fault VALUES (1000000)');
    for (const table of ['progress', 'catalog', 'indexed', 'catalog_function', 'upstream_change']) {
      other.exec(`CREATE TRIGGER fault_${table} BEFORE INSERT ON ${table} BEGIN
        UPDATE fault SET writes = writes - 1;
        SELECT RAISE(ABORT, 'a fault') WHERE (SELECT writes FROM fault) <= 0; END`);
    }
    let faults = 0;
    for (let step = 0; step < 45; step += 1) {
      for (let changes = random.below(12); changes >= 0; changes -= 1) await registry.change();
      for (let tries = random.below(4); tries >= 0; tries -= 1) {
        other.prepare('UPDATE fault SET writes = ?').run(1 + random.below(60));
        reads = random.chance(0.3) ? random.below(6) : Number.POSITIVE_INFINITY;
        try {
          await (random.chance(0.5) ? synchronize() : follower!.search({ limit: 1 }));
        } catch (error) {
          expect(String(error)).toMatch(/a fault|the registry is gone/);
          faults += 1;
        }
        if (random.chance(0.5)) {
          await closeFollower();
          openFollower({ record: failing });
        }
      }
      other.exec('UPDATE fault SET writes = 1000000');
      reads = Number.POSITIVE_INFINITY;
      if (random.chance(0.5)) continue;
      await synchronize();
      await expectSame();
    }
    expect(faults).toBeGreaterThan(20);
    other.close();
  });

  describe('is built again', () => {
    const damages: Record<string, (file: string) => Promise<unknown>> = {
      'if it is deleted': (file) => rm(file),
      'if it is empty': (file) => truncate(file, 0),
      'if it is not a database': (file) => writeFile(file, 'x'.repeat(10_000)),
      'if half of it is lost': async (file) => truncate(file, (await stat(file)).size / 2),
      'if its pages are overwritten': async (file) => {
        const { size } = await stat(file);
        const handle = await open(file, 'r+');
        // All but the first pages, which say what tables there are.
        await handle.write(Buffer.alloc(size - 16 * 4_096, 0x5a), 0, size - 16 * 4_096, 16 * 4_096);
        await handle.close();
      },
      'if it is of another version': async (file) => {
        const other = new Database(file);
        other.exec('DROP VIEW event; PRAGMA user_version = 99');
        other.close();
      },
      'if it has followed a later state': async (file) => {
        const other = new Database(file);
        other.exec('UPDATE progress SET event = event + 1');
        other.close();
      },
      'if it has followed another registry': async (file) => {
        const other = new Database(file);
        other.exec(
          `UPDATE progress SET mark = replace(mark, '2030', '2031'); UPDATE indexed SET kind = 'Wrong'`,
        );
        other.close();
      },
      'if a catalog has fewer serials': async (file) => {
        const other = new Database(file);
        other.exec('UPDATE catalog SET serial = serial + 1');
        other.close();
      },
    };

    beforeEach(async () => {
      const registry = new RandomRegistry(record, new Random(7));
      for (let changes = 0; changes < 150; changes += 1) await registry.change();
      // The last event is one with a time.
      await record.commitFunction(changeOf({ kind: 'Last', publishedAt: AT }));
    });

    it.each(Object.keys(damages))('%s', async (name) => {
      openFollower();
      await synchronize();
      await expectSame();
      await closeFollower();
      await damages[name]!(index());
      logged.length = 0;
      openFollower();
      // A search that finds the damage finds what is there, and begins to fill the next file.
      await synchronize();
      await follower!.search({ limit: 100 });
      await synchronize();
      await expectSame();
      expect(logged.join('')).toContain('building the search index');
      await cutUpstream(record, 'new', [{ kind: 'Weigh' }, { kind: 'PeelKiwi' }]);
      await expectSame();
    });

    it.each([false, true])('if its file is removed in use (threads: %s)', async (threads) => {
      openFollower(threads ? { startThreads: (file) => searchThreads(file, log) } : {});
      await synchronize();
      await rm(index());
      await synchronize();
      expect(existsSync(index())).toBe(true);
      await synchronize();
      await expectSame();
    });

    it.each([false, true])('if its file is damaged in use (threads: %s)', async (threads) => {
      openFollower(threads ? { startThreads: (file) => searchThreads(file, log) } : {});
      await synchronize();
      const checkpoint = new Database(index());
      checkpoint.pragma('wal_checkpoint(TRUNCATE)');
      checkpoint.close();
      await damages['if its pages are overwritten']!(index());
      // Searches answer from what is there, and from what is filled meanwhile.
      expect((await follower!.search({ limit: 100, text: 'number' })).total).toBeGreaterThanOrEqual(0);
      await record.commitFunction(changeOf({ kind: 'Later' }));
      await synchronize();
      await expectSame();
      expect(logged.join('')).toContain('it is damaged');
    });
  });

  it('has no words of a release that was taken down, also after an end before they were erased', async () => {
    const read = (suffix: string) => readFile(index() + suffix).catch(() => Buffer.alloc(0));
    const holds = async (word: string) =>
      (await read('')).includes(word) || (await read('-wal')).includes(word);
    const takeDown = (kind: string) =>
      takeDownBytes(record, sha256(`example.com/${kind}@1.0.0`), { kind, expectedRevision: 1 });
    openFollower({ startThreads: (file) => searchThreads(file, log) });
    const words = { First: 'qxylophone', Second: 'jvibraphone', Third: 'wglockenspiel' };
    for (const [kind, word] of Object.entries(words)) {
      await record.commitFunction(changeOf({ kind, readme: `# About the ${word}\n` }));
    }
    await synchronize();
    // An index may store a word without the letters that it shares with the one before.
    for (const word of ['ylophone', 'ibraphone', 'lockenspiel'])
      expect([word, await holds(word)]).toEqual([word, true]);
    await takeDown('First');
    await synchronize();
    expect([await holds('ylophone'), await holds('ibraphone')]).toEqual([false, true]);
    await takeDown('Second');
    // A search includes the takedown, and the process ends before the file is rewritten.
    expect((await follower!.search({ limit: 9, text: 'jvibraphone' })).items).toEqual([]);
    expect(await holds('ibraphone')).toBe(true);
    await closeFollower();
    openFollower();
    await synchronize();
    expect([await holds('ibraphone'), await holds('lockenspiel')]).toEqual([false, true]);
    await expectSame();
  });

  it('is filled in short steps, during which searches find what is there', async () => {
    for (let at = 0; at < 1_050; at += 1) await record.commitFunction(changeOf({ kind: `Made${at}` }));
    await cutUpstream(
      record,
      'zoo',
      Array.from({ length: 450 }, (_, at) => ({ kind: `Many${at}` })),
    );
    openFollower();
    expect((await follower!.search({ limit: 1 })).total).toBe(0);
    const totals: number[] = [];
    const done = synchronize();
    let isDone = false;
    void done.then(() => {
      isDone = true;
    });
    while (!isDone) {
      totals.push((await follower!.search({ limit: 1 })).total);
      await setImmediate();
    }
    expect(new Set(totals).size).toBeGreaterThan(5);
    expect(totals).toEqual([...totals].sort((a, b) => a - b));
    expect(await follower!.status()).toMatchObject({ isBuilding: false, functions: 1_500 });
    expect(logged.join('')).toContain('building the search index');
    // A publish during the build is found at once.
    await expectSame();
  });

  it('has publishes that come while it is filled', async () => {
    for (let at = 0; at < 500; at += 1) await record.commitFunction(changeOf({ kind: `Made${at}` }));
    openFollower();
    const done = synchronize();
    await follower!.search({ limit: 1 });
    await record.commitFunction(changeOf({ kind: 'Urgent' }));
    expect((await follower!.search({ limit: 1, text: 'urgent' })).total).toBe(1);
    expect(await follower!.status()).toMatchObject({ isBuilding: true });
    await done;
    await expectSame();
  });

  it('belongs to one process', async () => {
    openFollower();
    expect(() => new SearchFollower({ record: sql, file: index(), log })).toThrow('another process uses');
  });

  it('lets purges of deleted catalogs delete their rows', async () => {
    openFollower();
    await cutUpstream(record, 'zoo', [{ kind: 'Weigh' }]);
    const event = { type: 'catalog.deleted' as const, at: AT, by: 'admin', catalog: 'zoo' };
    const deletion = { at: AT, by: 'admin', reason: 'merged', restorableUntil: AT };
    await follower!.synchronizeSearch();
    await record.deleteCatalog({ name: 'zoo', deletion, event });
    const later = '2032-01-01T00:00:00.000Z';
    expect(await record.catalogsToPurge(later)).toEqual([]);
    await follower!.synchronizeSearch();
    expect(await record.catalogsToPurge(later)).toEqual(['zoo']);
    expect(await record.startPurge('zoo', later)).toBe(true);
    while (await record.purgeRows('zoo', later));
    expect((await follower!.search({ limit: 1 })).total).toBe(0);
    await follower!.synchronizeSearch();
    expect(await follower!.status()).toMatchObject({ isBuilding: false, functions: 0 });
    expect((await readFile(index())).length).toBeGreaterThan(0);
  });
});
