import { setTimeout as sleep } from 'node:timers/promises';
import { type Event, type FunctionChange, functionKey, RevisionConflict } from '@krmhub/catalog';
import type { KrmhubError } from '@krmhub/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releaseArtifact } from '../../apps/registry/src/store/artifacts/release-artifact.js';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openPool } from '../../apps/registry/src/store/postgres/pool.js';
import { postgresSql } from '../../apps/registry/src/store/postgres/postgres-sql.js';
import { openPostgresStore, type RecordStore } from '../../apps/registry/src/store/postgres/store.js';
import { newNumber } from '../../apps/registry/src/store/sql/new-number.js';
import { lastly, text, type Work } from '../../apps/registry/src/store/sql/statement.js';
import { postgresMissing, query } from '../contracts/postgres.js';
import { AT, changeOf } from '../contracts/sample-records.js';
import { randomInt, randomNumbers } from '../replicas/random.js';
import { useServers } from './servers.js';

const KINDS = ['One', 'Two', 'Three', 'Four'];
const GROUPS = ['a.example.com', 'b.example.com'];
const CLIENTS = 12;
const OPERATIONS = 30;
/** Of each client whose connections break. */
const PUBLISHES = 10;

/** A function at a time: whether each of its releases is yanked. */
type Releases = Record<string, boolean>;

/** A change that the database accepted, with what it was planned from. */
interface Done {
  do: 'publish' | 'yank' | 'takedown' | 'policies';
  key: string;
  release: string;
  sequence: number;
  before: Releases;
  policies: number | undefined;
}

describe.skipIf(postgresMissing)('writers of one database (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });
  let url: string;
  const stores: ReturnType<typeof openPostgresStore>[] = [];

  beforeEach(async () => {
    url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    for (let at = 0; at < 4; at += 1) stores.push(openPostgresStore(url));
  });
  afterEach(async () => {
    for (const { store } of stores.splice(0)) await store.close();
  });

  it.each([1, 2])('store what one after the other would have stored (seed %i)', async (seed) => {
    const [follower, ...writers] = stores.map(({ store }) => store);
    const following = follow(follower!);
    const clients = Array.from({ length: CLIENTS }, (_, at) =>
      operate(writers[at % writers.length]!, seed * 1_000 + at),
    );
    const done = (await Promise.all(clients)).flat();
    const seen = await following.stop();

    // A reader never sees an event after one with a higher number.
    expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map((_, at) => at + 1));
    expect(seen).toEqual(await follower!.events(0, 10_000));
    expect(done.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(
      seen.map(({ sequence }) => sequence),
    );
    // The order of the events is one in which each change was planned from what was there.
    const functions = new Map<string, Releases>();
    let policies = 0;
    for (const one of done.sort((a, b) => a.sequence - b.sequence)) {
      if (one.policies !== undefined) expect(one.policies, JSON.stringify(one)).toBe(policies);
      if (one.do === 'policies') {
        policies += 1;
        continue;
      }
      const releases = functions.get(one.key) ?? {};
      expect(releases, JSON.stringify(one)).toEqual(one.before);
      if (one.do === 'takedown') delete releases[one.release];
      else releases[one.release] = one.do === 'yank';
      functions.set(one.key, releases);
    }
    for (const group of GROUPS) {
      for (const kind of KINDS)
        expect(await releasesOf(follower!, group, kind)).toEqual(
          functions.get(functionKey({ group, kind })) ?? {},
        );
    }
    const [audit] = await query(url, 'SELECT count(*)::int AS rows, max(sequence)::int AS last FROM audit');
    expect(audit).toEqual({ rows: done.length, last: done.length });
    // All have the same README.
    expect(await query(url, 'SELECT count(*)::int AS files FROM release_file')).toEqual([{ files: 1 }]);
    expect(new Set(done.map((one) => one.do)).size).toBe(4);
  });

  it.each([1, 2])('store each release once while their connections break (seed %i)', async (seed) => {
    const random = randomNumbers(seed);
    const [follower, ...writers] = stores.map(({ store }) => store);
    const following = follow(follower!);
    let isWriting = true;
    let broken = 0;
    const breaking = (async () => {
      const some = `DISTINCT pid, pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'krmhub' AND random() < 0.4`;
      for (; isWriting; await sleep(randomInt(random, 20)))
        broken += (await query(url, `SELECT ${some}`)).length;
    })();
    const clients = Array.from({ length: CLIENTS }, (_, at) =>
      publishAll(writers, seed * 1_000 + Math.floor(at / 2)),
    );
    const written = await Promise.allSettled(clients);
    isWriting = false;
    await breaking;
    expect(broken).toBeGreaterThan(CLIENTS);
    const events = await following.stop();
    const published = new Set(
      written.flatMap((one) => (one.status === 'fulfilled' ? one.value : one.reason)),
    );
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    const named = events.map(({ group, kind, release }) => `${group}/${kind}@${release}`);
    expect(named.sort()).toEqual([...published].sort());
    const [audit] = await query(url, 'SELECT count(*)::int AS rows, max(sequence)::int AS last FROM audit');
    expect(audit).toEqual({ rows: published.size, last: published.size });
  });

  it('store what does not depend on a write that fails beside it', async () => {
    const { sql } = stores[0]!;
    const note = text<never>('INSERT INTO note (id, text) VALUES (:id, :text)');
    await query(url, 'CREATE TABLE note (id bigint PRIMARY KEY, text text NOT NULL)');
    const write = (name: string, work: () => Work<unknown>) => sql.write(work, { of: name });
    const add = (id: number, value: string | null) => () => lastly([note.later({ id, text: value })]);
    const results = await Promise.allSettled([
      write('a', add(1, 'a')),
      write('b', add(2, null)),
      write('c', add(3, 'c\u0000')),
      // biome-ignore lint/correctness/useYield: it is refused before it reads anything.
      write('d', function* () {
        throw new RevisionConflict('changed');
      }),
      write('e', function* () {
        return yield* note.run({ id: 5, text: 'e' });
      }),
      write('a', add(6, 'f')),
    ]);
    expect(
      results.map((one) => (one.status === 'fulfilled' ? 'stored' : String(one.reason.message))),
    ).toEqual([
      ...[
        'stored',
        expect.stringContaining('violates not-null'),
        expect.stringContaining('U+0000'),
        'changed',
      ],
      ...[expect.stringContaining('before its last changes'), 'stored'],
    ]);
    expect(await query(url, 'SELECT text FROM note ORDER BY id')).toEqual([{ text: 'a' }, { text: 'f' }]);
  });

  it('give rows of many changes one number, also if they are several statements', async () => {
    const { sql } = stores[0]!;
    const insert = text<never>(
      `INSERT INTO release_file (digest, bytes) VALUES ('n' || CAST(:number AS bigint) || :at, '')`,
    );
    const changes = Array.from({ length: 130 }, (_, at) =>
      insert.later({ number: newNumber('function', 2), at: `-${at}` }),
    );
    await sql.write(() => lastly(changes), { of: 'one' });
    const rows = await query(
      url,
      `SELECT DISTINCT split_part(digest, '-', 1) AS n FROM release_file WHERE digest LIKE 'n%'`,
    );
    expect(rows).toEqual([{ n: 'n3' }]);
  });

  it('take as few statements as there are round trips', async () => {
    const pool = openPool(url);
    let statements = 0;
    const sql = postgresSql(pool, undefined, (count) => {
      statements += count;
    });
    const write = (name: string) =>
      sql.write(() => lastly([text<never>('DELETE FROM setting WHERE name = :name').later({ name: '' })]), {
        of: name,
      });
    await write('a');
    // BEGIN, its locks, the lock of numbers, the change, and COMMIT.
    expect(statements).toBe(5);
    await Promise.all(['a', 'b', 'c'].map(write));
    expect(statements).toBe(5 + 7);
    await pool.end();
  });
});

/** Reads new events again and again, as another process does. */
function follow(store: RecordStore) {
  const seen: Event[] = [];
  let stopped = false;
  const read = async () => {
    for (;;) {
      const found = await store.events(seen.at(-1)?.sequence ?? 0, 100).catch(unlessAway);
      if (found === undefined) continue;
      seen.push(...found);
      return;
    }
  };
  const running = (async () => {
    while (!stopped) {
      await read();
      await sleep(1);
    }
    await read();
    return seen;
  })();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

/** Rejects with other errors than that of a connection that broke. */
function unlessAway(error: unknown): undefined {
  if ((error as KrmhubError).code !== 'unavailable') throw error;
}

/** Publishes as a client that repeats each request until it is answered. Returns the names of the releases. */
async function publishAll(stores: readonly RecordStore[], seed: number): Promise<string[]> {
  const random = randomNumbers(seed);
  const names: string[] = [];
  while (names.length < PUBLISHES) {
    const [group, kind] = [GROUPS, KINDS].map((some) => some[randomInt(random, some.length)]!) as [
      string,
      string,
    ];
    const release = `1.${seed}.${names.length}`;
    names.push(`${group}/${kind}@${release}`);
    const publish = async (store: RecordStore) => {
      const current = await store.function(group, kind);
      if (current?.releases.some((one) => one.release === release)) return true;
      await store.commitFunction(changeOf({ group, kind, release }, current?.revision ?? 0));
      return true;
    };
    let attempts = seed;
    const again = (error: unknown) => {
      if (!(error instanceof RevisionConflict)) unlessAway(error);
    };
    while (!(await publish(stores[attempts++ % stores.length]!).catch(again)));
  }
  return names;
}

async function releasesOf(store: RecordStore, group: string, kind: string): Promise<Releases> {
  const found = await store.function(group, kind);
  return Object.fromEntries((found?.releases ?? []).map((one) => [one.release, one.yanked !== undefined]));
}

/** Makes changes as requests do: each is planned from what is read, and is refused if that has changed. */
async function operate(store: RecordStore, seed: number): Promise<Done[]> {
  const random = randomNumbers(seed);
  const pick = <Item>(items: readonly Item[]) => items[randomInt(random, items.length)]!;
  const done: Done[] = [];
  while (done.length < OPERATIONS) {
    const [group, kind] = [pick(GROUPS), pick(KINDS)];
    try {
      done.push(await operateOnce(store, { group, kind, random, id: `${seed}-${done.length}` }));
    } catch (error) {
      const isExpected = error instanceof RevisionConflict || (error as KrmhubError).code === 'conflict';
      if (!isExpected) throw error;
    }
  }
  return done;
}

async function operateOnce(
  store: RecordStore,
  { group, kind, random, id }: { group: string; kind: string; random: () => number; id: string },
): Promise<Done> {
  const current = await store.function(group, kind);
  const policies = (await store.policies())?.revision ?? 0;
  const key = functionKey({ group, kind });
  const before = Object.fromEntries(
    (current?.releases ?? []).map((one) => [one.release, one.yanked !== undefined]),
  );
  const what = randomInt(random, 20);
  const event = { at: AT, by: 'admin' };
  if (what === 0) {
    const applied = { text: '', appliedAt: AT, appliedBy: 'admin', expectedRevision: policies };
    const { sequence } = await store.applyPolicies({
      ...applied,
      event: { ...event, type: 'policy.applied' },
    });
    return { do: 'policies', key: '', release: '', sequence, before: {}, policies };
  }
  const revision = current?.revision ?? 0;
  const one = current?.releases[randomInt(random, current.releases.length)];
  if (one !== undefined && what < 3) {
    const left = current!.releases.find(({ release }) => release !== one.release);
    const { release, digest } = one;
    const { event: sequence } = await store.commitTakedown({
      ...{ group, kind, expectedRevision: revision },
      takedowns: [{ group, kind, release, digest, at: AT, by: 'root', reason: 'bad' }],
      ...(left && { search: changeOf({ group, kind, release: left.release }).search }),
    });
    return { do: 'takedown', key, release, sequence, before, policies: undefined };
  }
  if (one !== undefined && what < 8) {
    const sample = { group, kind, release: one.release, yanked: { at: AT, by: 'admin', reason: 'broken' } };
    const change = changeOf(sample, revision, 'update', 'release.yanked');
    const { sequence } = await store.commitFunction(change);
    return { do: 'yank', key, release: one.release, sequence, before, policies: undefined };
  }
  // Few numbers, so that some publish the same release at once.
  const release = what < 12 ? `1.0.${randomInt(random, 3)}` : `2.0.0-r${id}`;
  const readme = 'The same words.';
  const change: FunctionChange = {
    ...changeOf({ group, kind, release, readme }, revision),
    expectedPolicies: policies,
  };
  const artifact = releaseArtifact(change.release, { digest: change.release.readme!, size: readme.length });
  const { sequence } = await store.commitFunction(change, [artifact], [Buffer.from(readme)]);
  return { do: 'publish', key, release, sequence, before, policies };
}
