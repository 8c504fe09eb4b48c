import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { EventType, SearchQuery } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { copyKeeper } from '../../apps/registry/src/store/search/follow/copy-keeper.js';
import { SearchFollower } from '../../apps/registry/src/store/search/follow/follower.js';
import { IndexCopies, type IndexCopy } from '../../apps/registry/src/store/search/follow/index-copies.js';
import { lastTakedownNumber } from '../../apps/registry/src/store/search/follow/record-state.js';
import type { Sql } from '../../apps/registry/src/store/sql/sql.js';
import { text } from '../../apps/registry/src/store/sql/statement.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { createStore } from '../../apps/registry/src/store/sqlite/store.js';
import { TestPieces } from '../../apps/registry/src/testing/test-pieces.js';
import { RwLock } from '../../apps/registry/src/workers/locks/rw-lock.js';
import { RandomRegistry } from './random-registry.js';
import { changeOf, takeDownBytes } from './sample-records.js';
import { cutUpstream } from './sample-upstream.js';
import { names, RandomFunctions, randomQuery, walk } from './search-walks.js';

const BEGINS = 'the search index begins with a copy';
const QUERIES: SearchQuery[] = [
  { limit: 100 },
  { limit: 100, text: 'number' },
  { limit: 100, text: 'set l', sort: 'newest' },
  { limit: 100, catalog: ['default', 'zoo'] },
  { limit: 100, text: 'many4', tag: ['mutator'], sort: 'name' },
];

describe('a copy of the search index', () => {
  let folder: string;
  let logged: string[];
  let sql: Sql;
  let store: RegistryStore;
  let pieces: TestPieces;
  let copies: IndexCopies;
  let leader: SearchFollower;
  const others: SearchFollower[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) });
  const openFollower = (name: string) =>
    new SearchFollower({ record: sql, file: path.join(folder, name), log });
  const copiesIn = (of: Pick<RegistryStore, 'setting' | 'changeSetting'>) => {
    const lock = new RwLock();
    return new IndexCopies({
      pieces,
      settings: of,
      bytesLock: {
        read: (work) => lock.read(work),
        write: (work) => lock.write(work),
        exclusively: (work) => lock.write(work),
      },
      lastTakedown: () => sql.readOne(() => lastTakedownNumber()),
    });
  };
  const write = () => leader.packed((file, indexed) => copies.store(file, indexed));
  /** A process with an empty data folder. */
  const startOther = async (): Promise<SearchFollower> => {
    const other = openFollower(`other${others.length}.db`);
    others.push(other);
    await other.restore(copies);
    return other;
  };
  const expectSame = async (other: SearchFollower) => {
    for (const query of QUERIES)
      expect([query, await other.search(query)]).toEqual([query, await leader.search(query)]);
  };
  const publish = (kind: string) => store.commitFunction(changeOf({ kind, readme: `About ${kind}.\n` }));
  const takeDown = (kind: string) =>
    takeDownBytes(store, sha256(`example.com/${kind}@1.0.0`), { kind, expectedRevision: 1 });
  const addEvents = (type: EventType, count: number) =>
    sql.write(function* () {
      yield* text(
        `WITH RECURSIVE number (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM number WHERE at < :count)
         INSERT INTO event (type, at, by, group_name, kind)
         SELECT :type, '2030-02-01T00:00:00.000Z', 'someone', 'example.com', 'Second' FROM number`,
      ).run({ type, count });
    });
  const named = async () => JSON.parse((await store.setting('search-index'))!) as IndexCopy;
  const change = async (to: (copy: IndexCopy) => object) => {
    const before = (await store.setting('search-index'))!;
    await store.changeSetting('search-index', before, JSON.stringify(to(JSON.parse(before) as IndexCopy)));
  };

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'krmhub-copies-'));
    logged = [];
    const connection = openConnection(path.join(folder, 'registry.db'));
    sql = connection.sql;
    store = createStore(connection);
    pieces = new TestPieces();
    copies = copiesIn(store);
    leader = openFollower('search.db');
  });
  afterEach(async () => {
    await leader.close();
    for (const other of others.splice(0)) await other.close();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each([1, 2, 3])('has what the index has, and follows from there (%i)', async (seed) => {
    const random = new Random(seed);
    const registry = new RandomRegistry(store, random);
    for (let turn = 0; turn < 6; turn += 1) {
      for (let changes = random.below(40); changes >= 0; changes -= 1) await registry.change();
      await leader.synchronizeSearch();
      const written = await write();
      expect(written).toMatchObject({ event: (await leader.status()).event });
      const later = random.chance(0.5);
      // Not takedowns, after which it cannot be used.
      for (let changes = later ? random.below(9) : 0; changes > 0; changes -= 1)
        await publish(`Later${turn}${changes}`);
      logged = [];
      const other = await startOther();
      expect(logged.join('')).toContain(BEGINS);
      await expectSame(other);
      for (let changes = random.below(20); changes >= 0; changes -= 1) await registry.change();
      await leader.synchronizeSearch();
      await other.synchronizeSearch();
      await expectSame(other);
    }
    const { id, digests } = await named();
    expect([...pieces.pieces.keys()]).toEqual(digests.map((_, at) => `${id}/${at}`));
  });

  it.each([61, 62])('gives the pages of an index that was filled, or has followed (%i)', async (seed) => {
    const random = new Random(seed);
    const functions = new RandomFunctions(random);
    const change = async (count: number) => {
      for (let at = 0; at < count; at += 1) await store.commitFunction(changeOf(functions.next()));
      for (let at = 0; at < 4; at += 1) {
        const { group = '', kind, tags = [], description = '' } = functions.next();
        await cutUpstream(store, 'platform', [{ group, kind, tags, description }]);
      }
      for (const one of [leader, ...others]) await one.synchronizeSearch();
    };
    await change(30);
    await change(20);
    await write();
    await startOther();
    await change(20);
    others.push(openFollower('filled.db'));
    await change(0);
    const processes = [leader, ...others];
    for (let count = 0; count < 60; count += 1) {
      const query = randomQuery(random);
      const whole = await leader.search({ ...query, limit: 100 });
      const walked = await walk(query, (one) => random.pick(processes).search(one));
      expect(walked, JSON.stringify(query)).toEqual(names(whole));
      expect(walked).toHaveLength(whole.total);
      for (const one of others) expect(await one.search({ ...query, limit: 100 })).toEqual(whole);
    }
  });

  it('is kept for others if one process cannot fetch it', async () => {
    await publish('First');
    await leader.synchronizeSearch();
    expect(await write()).toBeDefined();
    const before = await store.setting('search-index');
    pieces.isReachable = false;
    await startOther();
    expect(logged.join('')).toContain('filled from the database');
    expect(await store.setting('search-index')).toBe(before);
    pieces.isReachable = true;
    logged = [];
    await expectSame(await startOther());
    expect(logged.join('')).not.toContain('filled from the database');
  });

  describe('is not used', () => {
    const reasons: Record<string, [reason: string, damage: () => Promise<unknown>]> = {
      'if there is none': ['there is none', () => change(() => ({ id: 'none' }))],
      'if its setting names another file': [
        'there is none',
        () => change((copy) => ({ ...copy, id: '../../blobs' })),
      ],
      'of another version': ['it has version 7', () => change((copy) => ({ ...copy, version: 7 }))],
      'with a piece that is missing': ['a piece is missing', async () => pieces.pieces.clear()],
      'with a piece that is truncated': [
        'does not match its digest',
        async () => {
          for (const piece of pieces.pieces.values()) piece.bytes = piece.bytes.subarray(0, -9);
        },
      ],
      'with other pieces of another size': [
        'another size',
        () => change((copy) => ({ ...copy, size: copy.size - 1 })),
      ],
      'that is not an index': [
        'not a database',
        async () => {
          const file = path.join(folder, 'text');
          await writeFile(file, 'x'.repeat(9_000));
          const { version, event, takedowns } = await named();
          await copies.store(file, { version, event, takedowns });
        },
      ],
      'after a takedown': ['a release was taken down after it', () => takeDown('First')],
      'of another registry': [
        'another state of the registry',
        async () => {
          await sql.write(function* () {
            yield* text(`UPDATE event SET at = '2031-01-01T00:00:00.000Z'`).run();
          });
        },
      ],
      'of a later state of the registry': [
        'another state of the registry',
        async () => {
          await sql.write(function* () {
            yield* text(`DELETE FROM event WHERE sequence = (SELECT max(sequence) FROM event)`).run();
          });
        },
      ],
      'that is too old': ['it is too old', () => addEvents('catalog.applied', 1_500)],
    };

    it.each(Object.keys(reasons))('%s', async (name) => {
      const [reason, damage] = reasons[name]!;
      for (const kind of ['First', 'Second', 'Third']) await publish(kind);
      await leader.synchronizeSearch();
      expect(await write()).toBeDefined();
      await damage();
      logged = [];
      const other = await startOther();
      expect(logged).toHaveLength(1);
      expect(logged[0]).toContain('filled from the database');
      expect(logged[0]).toContain(reason);
      await leader.synchronizeSearch();
      await other.synchronizeSearch();
      expect((await other.search({ limit: 10 })).total).toBe(name === 'after a takedown' ? 2 : 3);
      await expectSame(other);
    });
  });

  it('never finds a release that was taken down while it was fetched', async () => {
    for (const kind of ['First', 'Second']) await publish(kind);
    await leader.synchronizeSearch();
    await write();
    const read = pieces.read.bind(pieces);
    pieces.read = async function* (name) {
      yield* read(name);
      await takeDown('First');
    };
    const other = openFollower('other.db');
    others.push(other);
    let isRestored = false;
    void other.restore(copies).then(() => {
      isRestored = true;
    });
    for (;;) {
      const { items } = await other.search({ limit: 9, text: 'first' });
      if ((await store.allTakedowns()).length > 0) expect(items).toEqual([]);
      await setImmediate();
      if (isRestored) break;
    }
    expect((await other.search({ limit: 9, text: 'first' })).items).toEqual([]);
  });

  it('finds no release that was taken down long after it was written', async () => {
    for (const kind of ['First', 'Second']) await publish(kind);
    await leader.synchronizeSearch();
    await leader.close();
    // More events than one search includes later.
    await addEvents('release.yanked', 6_000);
    await takeDown('First');
    leader = openFollower('search.db');
    expect((await leader.search({ limit: 9 })).items.map(({ kind }) => kind)).toEqual(['Second']);
  });

  it('leaves nothing after a takedown while it is written', async () => {
    await publish('First');
    for (let at = 0; at < 300; at += 1) await publish(`Made${at}`);
    await leader.synchronizeSearch();
    await write();
    const lock = new RwLock();
    const put = pieces.put.bind(pieces);
    const locked = new IndexCopies({
      pieces,
      settings: store,
      bytesLock: {
        read: (work) => lock.read(work),
        write: (work) => lock.write(work),
        exclusively: (work) => lock.write(work),
      },
      lastTakedown: () => sql.readOne(() => lastTakedownNumber()),
    });
    let takenDown: Promise<unknown> | undefined;
    pieces.put = async (name, bytes) => {
      const tombstone = takeDown('First');
      // The takedown waits for the piece that is being stored.
      takenDown ??= tombstone.then(() => lock.write(() => locked.deleteAll()));
      await tombstone;
      await put(name, bytes);
    };
    expect(await leader.packed((file, indexed) => locked.store(file, indexed))).toBeUndefined();
    await takenDown;
    expect([...pieces.pieces.keys()]).toEqual([]);
    await leader.synchronizeSearch();
    pieces.put = put;
    expect(await write()).toBeDefined();
    expect((await (await startOther()).search({ limit: 1, text: 'first' })).total).toBe(0);
  });

  it('is one, whole, if two leaders write at the same time', async () => {
    await publish('First');
    await leader.synchronizeSearch();
    const second = openFollower('second.db');
    others.push(second);
    await second.synchronizeSearch();
    for (let turn = 0; turn < 5; turn += 1) {
      const written = await Promise.all(
        [leader, second].map((one) => one.packed((file, indexed) => copies.store(file, indexed))),
      );
      const { id, digests } = await named();
      expect(written.filter((one) => one !== undefined).length).toBeGreaterThan(0);
      expect(written.map((one) => one?.id)).toContain(id);
      expect([...pieces.pieces.keys()]).toEqual(digests.map((_, at) => `${id}/${at}`));
      logged = [];
      await startOther();
      expect(logged.join('')).toContain(BEGINS);
    }
  });

  it('of a leader that was killed is deleted later, and was never used', async () => {
    await publish('First');
    await leader.synchronizeSearch();
    await write();
    const used = await named();
    const killed = 'f47ac10b-58cc-4372-a567-0e02b2c3d479/0';
    await pieces.put(killed, Buffer.from('half'));
    await publish('Second');
    await leader.synchronizeSearch();
    await write();
    // It may be of a leader that is writing.
    expect([...pieces.pieces.keys()]).toContain(killed);
    expect([...pieces.pieces.keys()]).not.toContain(`${used.id}/0`);
    pieces.pieces.get(killed)!.written = new Date(Date.now() - 7_200_000);
    await write();
    expect([...pieces.pieces.keys()]).toEqual([`${(await named()).id}/0`]);
  });

  it('is written by the leader if enough has changed, or after a takedown', async () => {
    let leads = false;
    const keep = copyKeeper({ follower: leader, copies, leads: () => leads, log, pauseMilliseconds: 0 });
    await publish('First');
    await keep();
    // It has nothing yet.
    leads = true;
    await keep();
    expect(await store.setting('search-index')).toBeUndefined();
    await leader.synchronizeSearch();
    leads = false;
    await keep();
    expect(await store.setting('search-index')).toBeUndefined();
    leads = true;
    await keep();
    const first = await named();
    await publish('Second');
    await leader.synchronizeSearch();
    await keep();
    expect(await named()).toEqual(first);
    await takeDown('First');
    await leader.synchronizeSearch();
    await keep();
    const second = await named();
    expect(second).toMatchObject({ takedowns: 1, event: (await leader.status()).event });
    await addEvents('release.yanked', 1_100);
    await leader.synchronizeSearch();
    await keep();
    expect((await named()).event).toBeGreaterThan(second.event);
    const third = await named();
    pieces.pieces.clear();
    await startOther();
    await keep();
    expect(await named()).toMatchObject({ event: third.event, digests: third.digests });
    logged = [];
    await startOther();
    expect(logged.join('')).toContain(BEGINS);
    // The store is away: it tries again later.
    pieces.put = () => Promise.reject(new Error('the store is away'));
    await change((copy) => ({ ...copy, version: 7 }));
    leads = false;
    await keep();
    leads = true;
    await keep();
    expect(logged.at(-1)).toContain('cannot write a copy of the search index');
  });
});
