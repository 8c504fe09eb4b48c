import { inspect } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openPool } from '../../apps/registry/src/store/postgres/pool.js';
import { postgresSql } from '../../apps/registry/src/store/postgres/postgres-sql.js';
import { TAKE_WRITE_LOCK } from '../../apps/registry/src/store/postgres/write-locks.js';
import type { Sql } from '../../apps/registry/src/store/sql/sql.js';
import { text, together } from '../../apps/registry/src/store/sql/statement.js';
import { postgresMissing, query } from '../contracts/postgres.js';
import { useServers } from './servers.js';

const total = text<{ total: number }>('SELECT coalesce(sum(value), 0) AS total FROM one');
const add = text<never>('INSERT INTO one (value) VALUES (:value)');
const endOwnConnection = text<never>('SELECT pg_terminate_backend(pg_backend_pid())');
const insertText = text<never>('INSERT INTO note (text) VALUES (:text)');
const raise = (code: string) =>
  text<never>(`DO $do$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${code}'; END $do$`);

describe.skipIf(postgresMissing)('work in PostgreSQL', () => {
  const servers = useServers({ postgres: true });
  let url: string;
  const pools: pg.Pool[] = [];
  const openAPool = (at = url): pg.Pool => {
    const pool = openPool(at);
    pools.push(pool);
    return pool;
  };
  const open = (at = url): Sql => postgresSql(openAPool(at));
  let sql: Sql;
  const sum = (from = sql) => from.read(() => sumWork());
  function* sumWork() {
    return (yield* total.first())!.total;
  }

  beforeAll(async () => {
    url = await servers.postgres.createDatabase();
    await query(url, 'CREATE TABLE one (value bigint); CREATE TABLE note (text text)');
    sql = open();
  });
  beforeEach(async () => {
    await query(url, 'TRUNCATE one');
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it('reads one state, whatever is written meanwhile', async () => {
    const other = open();
    const seen = await sql.read(function* () {
      const before = yield* sumWork();
      // The next statement is sent after the write of the other connection.
      writing = other.write(function* () {
        yield* add.run({ value: 5 });
      });
      for (let read = 0; read < 50; read += 1) expect(yield* sumWork()).toBe(before);
      return before;
    });
    await writing;
    expect(seen).toBe(0);
    expect(await sum()).toBe(5);
  });
  let writing: Promise<void>;

  it.each(['read committed', 'serializable'])(
    'writes one after the other, also with other processes, if the default is %s',
    async (isolation) => {
      const level = isolation.replace(' ', '\\ ');
      const options = encodeURIComponent(`-c default_transaction_isolation=${level}`);
      const others = Array.from({ length: 3 }, () => open(`${url}&options=${options}`));
      const increment = (one: Sql) =>
        one.write(function* () {
          const before = yield* sumWork();
          yield* add.run({ value: 1 });
          return before;
        });
      const seen = await Promise.all(Array.from({ length: 90 }, (_, at) => increment(others[at % 3]!)));
      expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 90 }, (_, at) => at));
      expect(await sum()).toBe(90);
    },
  );

  it('stores nothing of work that fails, and all of the work that shared its transaction', async () => {
    const results = await Promise.allSettled(
      [1, 2, 4, 8].map((value) =>
        sql.write(function* () {
          yield* add.run({ value });
          if (value === 2) throw new Error('refused');
          if (value === 4) yield* raise('P0001').run();
        }),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(await sum()).toBe(9);
    await expect(
      sql.write(function* () {
        yield* add.run({ value: 16 });
        throw new Error('refused');
      }),
    ).rejects.toThrow('refused');
    expect(await sum()).toBe(9);
  });

  it('refuses to store the rest of work that goes on after a failed statement', async () => {
    await expect(
      sql.write(function* () {
        try {
          yield* raise('P0001').run();
        } catch {
          // As if nothing had happened.
        }
      }),
    ).rejects.toThrow('a statement of a committed transaction failed');
    expect(await sum()).toBe(0);
  });

  it('runs changes together as few statements, or none of them', async () => {
    let statements = 0;
    const counted = postgresSql(openAPool(), undefined, (count) => {
      statements += count;
    });
    const values = Array.from({ length: 130 }, (_, at) => at + 1);
    const last = await counted.write(() => together(values.map((value) => add.later({ value }))));
    // BEGIN, the lock, and COMMIT.
    expect([last, statements]).toEqual([1, 3 + 3]);
    expect(await sum()).toBe((130 * 131) / 2);
    const refused = insertText.later({ text: 'a\u0000b' });
    await expect(counted.write(() => together([add.later({ value: 1 }), refused]))).rejects.toMatchObject({
      code: 'invalid-request',
    });
    expect(await sum()).toBe((130 * 131) / 2);
  });

  it('reads one statement without a transaction, and refuses a second one', async () => {
    let statements = 0;
    const counted = postgresSql(openAPool(), undefined, (count) => {
      statements += count;
    });
    expect(await counted.readOne(() => sumWork())).toBe(0);
    expect(statements).toBe(1);
    await expect(
      counted.readOne(function* () {
        yield* sumWork();
        yield* sumWork();
      }),
    ).rejects.toThrow('the work has more than one statement');
  });

  it('goes on after the server was restarted', async () => {
    await Promise.all(Array.from({ length: 10 }, () => sum()));
    await servers.postgres.restart();
    expect(await Promise.all(Array.from({ length: 10 }, () => sum()))).toEqual(Array(10).fill(0));
    await servers.postgres.restart();
    await sql.write(function* () {
      yield* add.run({ value: 3 });
    });
    expect(await sum()).toBe(3);
  });

  it('fails if the server stops during it', async () => {
    const asleep = text('SELECT pg_sleep(600)');
    const reads = Promise.allSettled(Array.from({ length: 5 }, () => sql.read(() => asleep.first())));
    const sleeping = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)'`;
    await expect.poll(() => query(url, sleeping), { timeout: 120_000 }).toEqual([{ count: 5 }]);
    await servers.postgres.restart();
    for (const result of await reads) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    expect(await sum()).toBe(0);
  });

  it('fails with the connection that ends during it, and the next work has another', async () => {
    const failed = await Promise.allSettled([
      sql.write(function* () {
        yield* add.run({ value: 7 });
        yield* endOwnConnection.run();
      }),
      sql.read(function* () {
        yield* sumWork();
        yield* endOwnConnection.run();
      }),
    ]);
    for (const result of failed) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
    expect(await sum()).toBe(0);
  });

  it.each([
    ['53100', 'storage-full', 'cannot write to the database: its disk is full'],
    ['25006', 'unavailable', 'the database is read-only: raised (25006)'],
    ['42501', 'unavailable', 'the user may not do this in the database: raised (42501)'],
    ['57014', 'unavailable', 'the database did not answer in time: raised (57014)'],
    ['XX001', 'unavailable', 'the database is unavailable: raised (XX001)'],
  ])('reports the condition %s as %s', async (state, code, message) => {
    const work = sql.write(() => raise(state).run());
    await expect(work).rejects.toMatchObject({ code, message, hint: expect.stringMatching(/\.$/) });
  });

  it('leaves errors of its own SQL as they are', async () => {
    const work = sql.read(() => text('SELECT nothing').first());
    await expect(work).rejects.toMatchObject({ code: '42703' });
  });

  it('refuses the character U+0000', async () => {
    await expect(sql.write(() => insertText.run({ text: 'a\u0000b' }))).rejects.toMatchObject({
      code: 'invalid-request',
      message: 'cannot store text with the character U+0000',
    });
  });

  it('waits for a writer for some time only', async () => {
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    // As a writer of another process that does not end.
    await holder.query(TAKE_WRITE_LOCK.replace('_xact', ''));
    const waiting = open(`${url}&lock_timeout=100`);
    await expect(waiting.write(() => add.run({ value: 1 }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^the database did not answer in time: .*lock timeout/),
    });
    await holder.end();
    expect(await sum()).toBe(0);
  });

  it.each([
    ['a missing database', (at: string) => at.replace(/krmhub\d/, 'missing'), 'the database does not exist'],
    [
      'a missing user',
      (at: string) => at.replace('krmhub@', 'nobody:s3cret@'),
      'the database server refused the user',
    ],
    [
      'a missing socket',
      (at: string) => at.replace(/host=.*/, 'host=/nowhere'),
      'cannot reach the database server',
    ],
    [
      'a closed port',
      () => 'postgres://krmhub:s3cret@127.0.0.1:1/krmhub',
      'cannot reach the database server',
    ],
    [
      'a missing certificate',
      () => 'postgres://krmhub:s3cret@127.0.0.1:1/krmhub?sslrootcert=/nowhere/ca.pem',
      "open '/nowhere/ca.pem'",
    ],
  ])('reports %s', async (_, change, message) => {
    for (const use of [() => sum(open(change(url))), () => migratePostgres(change(url))]) {
      const error = await use().catch((reason) => reason);
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(message) });
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
    }
  });

  it.each([
    'krmhub',
    'mysql://host/krmhub',
    'postgres://host',
    'postgres://u:s3cret@[/x',
    'postgres://h:port/db',
  ])('refuses the URL %s, without its password', (wrong) => {
    let error: unknown;
    try {
      openPool(wrong);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'usage', message: 'the URL of the database is not valid' });
    expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
  });
});
