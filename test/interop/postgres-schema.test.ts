import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runtimePins } from '@krmhub/catalog';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { withClient } from '../../apps/registry/src/store/postgres/client.js';
import { migratePostgres } from '../../apps/registry/src/store/postgres/migrate.js';
import { openPool } from '../../apps/registry/src/store/postgres/pool.js';
import { openConnection } from '../../apps/registry/src/store/sqlite/connection.js';
import { MIGRATIONS, migrateThrough, postgresMissing, query } from '../contracts/postgres.js';
import { useServers } from './servers.js';

const COUNT = readMigrationFiles({ migrationsFolder: MIGRATIONS }).length;

/**
 * Tables of search in SQLite, which is a file in each data folder, those that list migrations, and those of several
 * processes.
 */
const OTHERS =
  /^(?:function_text|upstream_(?:function|change)|sqlite_|__drizzle|(?:migration|process|lease)$|leader_)/;

describe.skipIf(postgresMissing)('the migrations of PostgreSQL', () => {
  const servers = useServers({ postgres: true });

  it('are applied once, though processes start together', async () => {
    const url = await servers.postgres.createDatabase();
    await Promise.all(Array.from({ length: 8 }, () => migratePostgres(url)));
    await migratePostgres(url);
    expect(await query(url, 'SELECT count(*)::int AS migrations FROM migration')).toEqual([
      { migrations: COUNT },
    ]);
  });

  it('make the tables, columns, keys, and indexes of SQLite', async () => {
    const url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    const inSqlite = sqliteSchema();
    expect(inSqlite.length).toBeGreaterThan(150);
    expect(await postgresSchema(url)).toEqual(inSqlite);
  });

  it('read what the runtimes of stored releases name as the program does', async () => {
    const url = await servers.postgres.createDatabase();
    await migratePostgres(url);
    const digits = (character: string) => character.repeat(64);
    const runtimes = [
      { container: { image: 'example.com/fn:v1', sha256: digits('a') } },
      { container: { image: `example.com/fn:v1@sha256:${digits('b')}`, sha256: digits('b') } },
      { container: { image: 'example.com/fn:v1' } },
      {
        exec: {
          platforms: [
            { uri: 'https://example.com/a', sha256: digits('c') },
            { uri: `oci://localhost:8080/bin/fn@sha256:${digits('2')}`, sha256: digits('d') },
            { uri: `oci://example.com/bin/fn@sha256:${digits('3')}` },
            { uri: 'a' },
          ],
        },
      },
      { starlark: `oci://localhost:8080/scripts/fn:v1@sha256:${digits('e')}` },
      { starlark: `https://example.com/fn.star#sha256=${digits('f')}` },
      { starlark: 'oci://localhost:8080/scripts/fn:v1' },
      { starlark: 'oci://localhost/scripts/fn' },
      { starlark: 'oci://example.com/scripts/fn' },
      { starlark: 'oci://scripts/fn:v1' },
      { starlark: 'https://example.com/fn.star' },
      { container: { image: 'example.com/fn' }, starlark: `https://example.com/#sha256=${digits('1')}` },
    ];
    const definitions = [...runtimes.map((one) => [one]), runtimes].map((all) => ({
      versions: all.map((runtime) => ({ runtime })),
    }));
    for (const [at, definition] of definitions.entries()) {
      await query(
        url,
        `SET session_replication_role = replica; -- without its function
         INSERT INTO release (id, function_id, release, digest, size, media_type, versions, tags, publisher, runtimes,
           licenses, published_at, published_by, definition)
         VALUES (${at}, 1, '${at}.0.0', '', 1, '', '[]', '[]', '', '[]', '[]', now(), '', '${JSON.stringify(definition)}')`,
      );
    }
    const migration = readFileSync(path.join(MIGRATIONS, '0007_runtime_pins.sql'), 'utf8');
    await query(url, migration.slice(migration.indexOf('INSERT INTO')));
    const rows = await query<{ release: string; pin: string }>(url, 'SELECT release, pin FROM release_pin');
    for (const [at, definition] of definitions.entries()) {
      const pins = rows.filter(({ release }) => Number(release) === at).map(({ pin }) => pin);
      const expected = runtimePins(definition as unknown as Parameters<typeof runtimePins>[0]);
      expect(pins.sort(), JSON.stringify(definition)).toEqual(expected.sort());
    }
  });

  it('refuse a database that is newer, or of another program', async () => {
    const newer = await servers.postgres.createDatabase();
    await migratePostgres(newer);
    await query(newer, `INSERT INTO migration VALUES ('of later', now())`);
    await expect(migratePostgres(newer)).rejects.toMatchObject({
      code: 'unavailable',
      message: `the database is newer than this version of krmhub: 1 of ${COUNT + 1} migrations are unknown`,
    });
    const foreign = await servers.postgres.createDatabase();
    // A late migration meets it.
    await query(foreign, 'CREATE TABLE process (id int)');
    await expect(migratePostgres(foreign)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the database has tables of another program: relation "process" already exists',
    });
    expect(await query(foreign, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)).toEqual([
      { tablename: 'process' },
    ]);
  });

  it('wait for processes of an older version that cannot read the tables any more', async () => {
    const url = await servers.postgres.createDatabase();
    // The next migration is harmless, and the one after it is not.
    await migrateThrough(url, 7);
    const join = `INSERT INTO process VALUES ('older', clock_timestamp(), clock_timestamp() + interval '1 hour', true, 0)`;
    await query(url, join);
    const times = { renew: 20, read: 20, lost: 200, drain: 1_000 };
    await expect(migratePostgres(url, { times })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the database is used by a process of an older version of krmhub',
      hint: expect.stringMatching(/^Nothing was changed/),
    });
    expect(await query(url, 'SELECT hash FROM migration')).toHaveLength(7);
    const migrated = migratePostgres(url);
    await query(url, `UPDATE process SET seen_at = clock_timestamp() - interval '1 hour'`);
    expect(await migrated).toBeGreaterThan(0);
    // It returns.
    await expect(query(url, join)).rejects.toThrow('"tables_version"');
  });

  it('have times that are read alike, whatever the settings of the database are', async () => {
    const url = await servers.postgres.createDatabase();
    const [{ database } = {}] = await query<{ database: string }>(
      url,
      'SELECT current_database() AS database',
    );
    await query(url, `ALTER DATABASE "${database}" SET datestyle = 'SQL, DMY'`);
    await query(url, `ALTER DATABASE "${database}" SET timezone = 'Europe/Berlin'`);
    const pool = openPool(`${url}${url.includes('?') ? '&' : '?'}options=-c%20work_mem%3D123kB`);
    const { rows } = await pool.query(
      `SELECT timestamptz '2030-01-02 03:04:05.678Z' AS at, current_setting('timezone') AS zone,
        current_setting('work_mem') AS memory`,
    );
    await pool.end();
    expect(rows).toEqual([{ at: '2030-01-02T03:04:05.678Z', zone: 'UTC', memory: '123kB' }]);
  });

  it('wait as long as the program says, whatever the settings of the database are', async () => {
    const url = await servers.postgres.createDatabase();
    const [{ database } = {}] = await query<{ database: string }>(
      url,
      'SELECT current_database() AS database',
    );
    const names = ['statement', 'lock', 'idle_session', 'idle_in_transaction_session'].map(
      (name) => `${name}_timeout`,
    );
    await withClient(url, async (client) => {
      for (const name of names) await client.query(`ALTER DATABASE "${database}" SET ${name} = '17ms'`);
    });
    const select = `SELECT ${names.map((name) => `current_setting('${name}') AS "${name}"`).join(', ')}`;
    const limits = async (work: Promise<pg.QueryResult>) => Object.values((await work).rows[0]);
    const pool = openPool(url);
    expect(await limits(pool.query(select))).toEqual(['2min', '30s', '0', '10s']);
    await pool.end();
    expect(await withClient(url, (client) => limits(client.query(select)))).toEqual(['0', '0', '0', '0']);
    expect(await migratePostgres(url)).toBeGreaterThan(0);
  });

  it('refuse an encoding that cannot have all text', async () => {
    const url = await servers.postgres.createDatabase('ENCODING SQL_ASCII TEMPLATE template0');
    await expect(migratePostgres(url)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the database has the encoding SQL_ASCII, not UTF8',
    });
  });
});

const TYPES: Readonly<Record<string, string>> = { integer: 'bigint', blob: 'bytea' };
/** What SQLite stores as text or as 0 and 1. */
const OTHER_TYPES: readonly (readonly [column: RegExp, type: string])[] = [
  [/\.(?:at|\w+_at|\w*since|first_seen)$|^catalog\.clock$|^function\.published$/, 'timestamp with time zone'],
  [/^function\.(?:yanked|deprecated|network|storage|pinned)$|^takedown\.finished$/, 'boolean'],
  [/^catalog_function\.selection$|^catalog\.deleted$/, 'jsonb'],
  [/^catalog_source\.copy$/, 'json'],
];

function sqliteSchema(): string[] {
  const { client, close } = openConnection(':memory:');
  const lines: string[] = [];
  const rows = <Row>(text: string, ...values: unknown[]) => client.prepare(text).all(...values) as Row[];
  const tables = rows<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`);
  for (const { name: table } of tables.filter(({ name }) => !OTHERS.test(name))) {
    const columns = rows<{ name: string; type: string; notnull: number; pk: number }>(
      'SELECT * FROM pragma_table_info(?)',
      table,
    );
    for (const { name, type, notnull } of columns) {
      const [, other] = OTHER_TYPES.find(([column]) => column.test(`${table}.${name}`)) ?? [];
      const kind = other ?? TYPES[type.toLowerCase()] ?? type.toLowerCase();
      lines.push(`${table}.${name} ${kind}${notnull ? ' not null' : ''}`);
    }
    const keys = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
    lines.push(`${table} key ${keys.map(({ name }) => name).join(' ')}`);
    const indexes = rows<{ name: string; unique: number; origin: string; partial: number }>(
      'SELECT * FROM pragma_index_list(?)',
      table,
    );
    for (const { name, unique, origin, partial } of indexes) {
      if (origin === 'c')
        lines.push(`${table} index ${name}${unique ? ' unique' : ''}${partial ? ' partial' : ''}`);
    }
    const references = rows<{ table: string }>(
      'SELECT DISTINCT id, "table" FROM pragma_foreign_key_list(?)',
      table,
    );
    for (const { table: other } of references) lines.push(`${table} references ${other}`);
  }
  close();
  return lines.sort();
}

async function postgresSchema(url: string): Promise<string[]> {
  const rows = await query<{ table: string; line: string }>(
    url,
    `SELECT table_name AS "table", table_name || '.' || column_name || ' ' || data_type ||
        CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END AS line
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL
    SELECT relname, relname || ' key ' || (
        SELECT string_agg(attname, ' ' ORDER BY place) FROM unnest(indkey) WITH ORDINALITY AS k(number, place)
          JOIN pg_attribute ON attrelid = indrelid AND attnum = number)
      FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
      WHERE indisprimary AND relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT t.relname, t.relname || ' index ' || i.relname || CASE WHEN indisunique THEN ' unique' ELSE '' END ||
        CASE WHEN indpred IS NULL THEN '' ELSE ' partial' END
      FROM pg_index JOIN pg_class t ON t.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
      WHERE NOT indisprimary AND t.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT conrelid::regclass::text, conrelid::regclass || ' references ' || confrelid::regclass
      FROM pg_constraint WHERE contype = 'f'`,
  );
  return rows
    .filter(({ table }) => !OTHERS.test(table))
    .map(({ line }) => line.replaceAll('"', ''))
    .sort();
}
