import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '@krmhub/yaml/testing/random';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { fillPostgres, fillSqlite } from '../../apps/registry/src/store/copy/fill.js';
import { openRowState } from '../../apps/registry/src/store/copy/state.js';
import {
  COPIED_TABLES,
  type CopiedTable,
  LEFT_OUT_TABLES,
  PROFILE_TABLES,
} from '../../apps/registry/src/store/copy/tables.js';
import { withClient } from '../../apps/registry/src/store/postgres/client.js';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { openSqliteStore } from '../../apps/registry/src/store/sqlite/store.js';
import { migrateThrough, postgresMissing, query } from '../contracts/postgres.js';
import { RandomRegistry } from '../contracts/random-registry.js';
import { useServers } from './servers.js';

const ALL = [...COPIED_TABLES, ...PROFILE_TABLES];
const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-copy-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(postgresMissing)('copies of a database (needs PostgreSQL)', () => {
  const servers = useServers({ postgres: true });

  const newDatabase = async () => {
    const url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    return url;
  };
  const toPostgres = async (file: string, url: string, tables: readonly CopiedTable[] = ALL) => {
    const state = await openRowState({ file });
    try {
      await withClient(url, (client) => fillPostgres(client, state.rows, { tables }));
    } finally {
      await state.close();
    }
  };
  const toSqlite = async (url: string, file: string) => {
    const state = await openRowState({ url });
    const connection = openConnection(file);
    try {
      await fillSqlite(connection, state.rows, { tables: ALL });
    } finally {
      connection.close();
      await state.close();
    }
  };

  it('have every table, but for those with a reason', async () => {
    const url = await newDatabase();
    const inPostgres = await query<{ name: string }>(
      url,
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    const { client, close } = openConnection(':memory:');
    const inSqlite = client
      .prepare<[], { name: string }>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'function_text_*'`,
      )
      .all();
    close();
    const known = [...ALL.map(({ name }) => name), ...Object.keys(LEFT_OUT_TABLES)];
    const unknown = [...inPostgres, ...inSqlite]
      .map(({ name }) => name)
      .filter((name) => !known.includes(name));
    expect(unknown).toEqual([]);
  });

  it('have every value of every table, in both directions', async () => {
    const file = path.join(folder, 'values.db');
    const { client, close } = openConnection(file);
    for (const table of ALL) addRows(client, table);
    close();
    const url = await newDatabase();
    await toPostgres(file, url);
    const back = path.join(folder, 'values-back.db');
    await toSqlite(url, back);
    for (const table of ALL) {
      const rows = rowsOf(back, table);
      expect([table.name, rows]).toEqual([table.name, rowsOf(file, table)]);
      expect(rows.length).toBeGreaterThan(0);
    }
    // A row without a key follows the copied ones.
    expect(
      await query(url, `SELECT nextval(pg_get_serial_sequence('event', 'sequence'))::int AS next`),
    ).toEqual([{ next: 3 }]);
  });

  it('have every value of a database of the version before, though its migration was interrupted', async () => {
    const file = path.join(folder, 'older.db');
    const { client, close } = openConnection(file);
    for (const table of ALL) addRows(client, table);
    const deleted = '{"reason":"half of \\ud83c, and \\u0000"}';
    client.prepare(`UPDATE catalog SET deleted = ? WHERE deleted IS NOT NULL`).run(deleted);
    client.exec('UPDATE token SET team = NULL, revoked_by = NULL, run = NULL, user_id = NULL');
    client.exec('UPDATE token SET sign_in = NULL, sign_in_key = NULL, kind = NULL');
    client.exec(`UPDATE function SET attestations = '[]'`);
    for (const name of LATER_TABLES) client.exec(`DELETE FROM ${name}`);
    close();
    const url = await servers.postgres.createDatabase();
    await migrateThrough(url, BEFORE_TYPES);
    // The copy asks all tables whether they are empty.
    const later = ALL.filter(({ name }) => LATER_TABLES.includes(name));
    await query(url, later.map(({ name, key }) => `CREATE TABLE ${name} (${key[0]} bigint)`).join('; '));
    await toPostgres(file, url, TABLES_BEFORE_TYPES);
    await query(url, LATER_TABLES.map((name) => `DROP TABLE ${name}`).join('; '));

    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    await blocker.query('BEGIN; LOCK TABLE upstream_entry');
    const interrupted = expect(migratePostgres(url)).rejects.toMatchObject({ code: 'unavailable' });
    const WAITS = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%upstream_entry%'`;
    while ((await query(url, WAITS)).length === 0) await sleep(20);
    await interrupted;
    await blocker.query('COMMIT');
    await blocker.end();
    const applied = await query(url, 'SELECT hash FROM migration');
    const all = await migratePostgres(url);
    expect([applied.length > BEFORE_TYPES, all > 0]).toEqual([true, true]);

    const back = path.join(folder, 'older-back.db');
    // The migration adds a document for the tokens.
    await query(url, 'DELETE FROM access');
    await toSqlite(url, back);
    for (const table of ALL) {
      const rows = rowsOf(file, table) as { deleted?: unknown }[];
      // PostgreSQL has no such text.
      for (const row of rows) if (row.deleted) row.deleted = { reason: 'half of \ufffd, and \ufffd' };
      expect([table.name, rowsOf(back, table)]).toEqual([table.name, rows]);
    }
  });

  it('have JSON without the text that PostgreSQL cannot have', async () => {
    const file = path.join(folder, 'odd.db');
    const { client, close } = openConnection(file);
    const table = ALL.find(({ name }) => name === 'catalog')!;
    addRows(client, table);
    const deleted = '{"reason":"\\ud83c, \\u0000, \\uDF4C\\ud83c\\udf4c, \\u00e9, and \\\\u0000"}';
    client.prepare(`UPDATE catalog SET deleted = ? WHERE deleted IS NOT NULL`).run(deleted);
    close();
    const url = await newDatabase();
    await toPostgres(file, url, [table]);
    expect(
      await query(url, `SELECT deleted->>'reason' AS reason FROM catalog WHERE deleted IS NOT NULL`),
    ).toEqual([{ reason: '\ufffd, \ufffd, \ufffd\u{1f34c}, é, and \\u0000' }]);
  });

  it('find what the registry finds', async () => {
    const file = path.join(folder, 'searched.db');
    const store = await openSqliteStore(file);
    const random = new RandomRegistry(store, new Random(7));
    for (let change = 0; change < 60; change++) await random.change();
    await store.synchronizeSearch();
    const url = await newDatabase();
    await toPostgres(file, url);
    const back = path.join(folder, 'searched-back.db');
    await toSqlite(url, back);
    const copy = await openSqliteStore(back);
    for (const text of [undefined, 'number', 'setlabels fruit', 'many4']) {
      const wanted = { limit: 100, sort: 'name', ...(text === undefined ? {} : { text }) } as const;
      const found = await copy.search(wanted);
      expect([text, found]).toEqual([text, await store.search(wanted)]);
      expect(found.total).toBeGreaterThan(0);
    }
    await copy.close();
    await store.close();
  });

  it('are of one moment, whatever is written meanwhile', async () => {
    const url = await newDatabase();
    await query(url, EVENT);
    const state = await openRowState({ url });
    await query(url, EVENT);
    const connection = openConnection(':memory:');
    await fillSqlite(connection, state.rows);
    expect(connection.client.prepare('SELECT count(*) AS count FROM event').get()).toEqual({ count: 1 });
    connection.close();
    await state.close();
  });

  it('are compared with the original, and a wrong one is not stored', async () => {
    const file = path.join(folder, 'compared.db');
    const { client, close } = openConnection(file);
    client.exec(EVENT);
    close();
    const url = await newDatabase();
    await query(
      url,
      `CREATE FUNCTION damage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at = now(); RETURN NEW; END $$;
       CREATE TRIGGER damage BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION damage()`,
    );
    await expect(toPostgres(file, url)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^the copy of the table event is not the same: 1 rows, sha256:/),
    });
    expect(await query(url, 'SELECT count(*)::int AS count FROM event')).toEqual([{ count: 0 }]);
  });

  it('replace nothing', async () => {
    const file = path.join(folder, 'used.db');
    const { client, close } = openConnection(file);
    client.exec(EVENT);
    close();
    const url = await newDatabase();
    await query(url, EVENT);
    await expect(toPostgres(file, url)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('already contains a registry: its table event has rows'),
    });
    await expect(toSqlite(url, file)).rejects.toMatchObject({ code: 'usage' });
  });

  it('say which table has a time that is none', async () => {
    const file = path.join(folder, 'time.db');
    const { client, close } = openConnection(file);
    client.exec(EVENT.replace('2030', 'in 2030'));
    close();
    await expect(toPostgres(file, await newDatabase())).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('cannot copy the table event: invalid input syntax'),
    });
  });

  it('say which table has text that PostgreSQL cannot store', async () => {
    const file = path.join(folder, 'zero.db');
    const { client, close } = openConnection(file);
    client.prepare(EVENT.replace("'nobody'", '?')).run('a\0b');
    close();
    await expect(toPostgres(file, await newDatabase())).rejects.toMatchObject({
      code: 'conflict',
      message: 'cannot copy the table event: cannot store text with the character U+0000',
    });
  });
});

/** Migrations before columns have types that only PostgreSQL has. */
const BEFORE_TYPES = 9;
/** What later migrations add. */
const LATER_TABLES = [
  // Those that refer to others first.
  ...['scim_member', 'scim_group', 'scim_user'],
  ...['release_notes', 'release_words', 'access', 'owner_claim', 'audit', 'release_run'],
  ...['trusted_publisher', 'used_identity_token', 'sign_in', 'registry_user'],
  ...['consumer', 'consumed_release'],
];
const LATER_COLUMNS = [
  'function.published',
  'function.attestations',
  'token.team',
  'token.revoked_by',
  'token.run',
  'token.user_id',
  'token.sign_in',
  'token.sign_in_key',
  'token.kind',
];
const TABLES_BEFORE_TYPES = ALL.filter(({ name }) => !LATER_TABLES.includes(name)).map((table) => ({
  ...table,
  columns: table.columns.filter(({ name }) => !LATER_COLUMNS.includes(`${table.name}.${name}`)),
}));

const EVENT = `INSERT INTO event (type, at, "by") VALUES ('release.published', '2030-01-01T00:00:00.000Z', 'nobody')`;

type Client = ReturnType<typeof openConnection>['client'];

const TIMES = /^(?:at|\w*since|clock|first_seen|published|\w+_at)$/;
const FLAGS = new Set([
  ...['yanked', 'deprecated', 'network', 'storage', 'pinned'].map((flag) => `function.${flag}`),
  'takedown.finished',
]);
/** JSON of which PostgreSQL stores the values. */
const JSON_COLUMNS = new Set(['selection', 'deleted']);

/** Adds rows whose values are equal where one table refers to another. */
function addRows(client: Client, { name, columns }: CopiedTable): void {
  const optional = new Set(
    (client.pragma(`table_info("${name}")`) as { name: string; notnull: number; pk: number }[])
      .filter(({ notnull, pk }) => notnull === 0 && pk === 0)
      .map((column) => column.name),
  );
  for (const number of ['policy', 'access'].includes(name) ? [1] : [1, 2]) {
    const values = columns.map(({ name: column, type }) => {
      if (number === 2 && optional.has(column)) return null;
      if (FLAGS.has(`${name}.${column}`)) return number - 1;
      if (type === 'integer') return number;
      if (column === 'clock' && number === 2) return '';
      if (TIMES.test(column)) return `2030-01-0${number}T00:00:0${number}.0${number}0Z`;
      if (JSON_COLUMNS.has(column)) return `{"second":"é\u{1f34c} ${number}","a":[${number}]}`;
      // JSON, as indexes of PostgreSQL read it.
      return type === 'blob'
        ? Buffer.from([0, 255, number])
        : column === 'tags'
          ? '[]'
          : `"é\u{1f34c} ${number}"`;
    });
    const names = columns.map((column) => `"${column.name}"`).join(', ');
    client
      .prepare(`INSERT INTO "${name}" (${names}) VALUES (${values.map(() => '?').join(', ')})`)
      .run(...values);
  }
}

function rowsOf(file: string, { name, columns, key }: CopiedTable): unknown[] {
  const { client, close } = openConnection(file);
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  const rows = client.prepare(`SELECT ${names} FROM "${name}" ORDER BY ${key.join(', ')}`).all();
  close();
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row as object).map(([column, value]) => [
        column,
        JSON_COLUMNS.has(column) && value !== null ? JSON.parse(value as string) : value,
      ]),
    ),
  );
}
