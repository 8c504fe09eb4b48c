import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { TokenStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type BetterSqlite3 from 'better-sqlite3';
import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DROP_NEWER_TABLES } from '../../testing/newer-tables.js';
import * as artifacts from '../records/schema/artifacts.js';
import * as audit from '../records/schema/audit.js';
import * as consumers from '../records/schema/consumers.js';
import * as directory from '../records/schema/directory.js';
import * as loginRequests from '../records/schema/login-requests.js';
import * as ownerClaims from '../records/schema/owner-claims.js';
import * as releaseFiles from '../records/schema/release-files.js';
import * as releaseNotes from '../records/schema/release-notes.js';
import * as releaseRuns from '../records/schema/release-runs.js';
import * as releaseWords from '../records/schema/release-words.js';
import * as runtimePins from '../records/schema/runtime-pins.js';
import * as catalogs from '../records/schema/schema.js';
import * as segments from '../records/schema/segments.js';
import * as sessions from '../records/schema/sessions.js';
import * as sources from '../records/schema/sources.js';
import * as tokens from '../records/schema/tokens.js';
import * as trustedPublishers from '../records/schema/trusted-publishers.js';
import * as uploads from '../records/schema/uploads.js';
import * as upstream from '../records/schema/upstream-functions.js';
import type { WriteOptions } from '../sql/write-queue.js';
import { openConnection, openSecondConnection } from './connection.js';
import { Database } from './driver.js';
import { attempt } from './errors.js';
import { openDatabaseState } from './state.js';
import { createStore, openSqliteStore } from './store.js';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-connection-'));
  file = path.join(folder, 'registry.db');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const token = { id: 'a', name: 'n', scopes: [], groups: [], repositories: [], createdAt: '', createdBy: '' };

interface ColumnInfo {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

describe('migrations', () => {
  it('create the tables of the schema', () => {
    const connection = openConnection(':memory:');
    const tables = Object.values({
      ...audit,
      ...consumers,
      ...directory,
      ...catalogs,
      ...releaseFiles,
      ...ownerClaims,
      ...releaseNotes,
      ...releaseRuns,
      ...trustedPublishers,
      ...tokens,
      ...releaseWords,
      ...runtimePins,
      ...sessions,
      ...loginRequests,
      ...uploads,
      ...artifacts,
      ...segments,
      ...sources,
      ...upstream,
    }).filter((value) => is(value, SQLiteTable));
    for (const table of tables) {
      const name = getTableName(table);
      const { primaryKeys, indexes, uniqueConstraints, foreignKeys } = getTableConfig(table);
      const composite = primaryKeys.flatMap(({ columns }) => columns.map((column) => column.name));
      const described = Object.values(getTableColumns(table)).map((column) => [
        column.name,
        column.getSQLType(),
        column.notNull,
        column.primary || composite.includes(column.name),
      ]);
      const columns = connection.client.pragma(`table_info("${name}")`) as ColumnInfo[];
      const made = columns.map((one) => [one.name, one.type.toLowerCase(), one.notnull === 1, one.pk > 0]);
      // Columns that migrations added later are last.
      expect(made.sort(), name).toEqual(described.sort());
      const describedIndexes = [
        ...indexes.map(({ config }) => [
          config.name,
          config.columns.map((column) => ('name' in column ? column.name : null)),
        ]),
        ...uniqueConstraints.map((constraint) => [
          constraint.name,
          constraint.columns.map((column) => column.name),
        ]),
      ];
      const list = connection.client.pragma(`index_list("${name}")`) as { name: string; origin: string }[];
      const madeIndexes = list
        .filter(({ origin }) => origin === 'c')
        .map((one) => [
          one.name,
          (connection.client.pragma(`index_info("${one.name}")`) as { name: string }[]).map(
            (column) => column.name,
          ),
        ]);
      expect(madeIndexes.sort(), name).toEqual(describedIndexes.sort());
      const references = connection.client.pragma(`foreign_key_list("${name}")`) as {
        table: string;
        from: string;
      }[];
      expect(references.map((one) => `${one.from} ${one.table}`).sort(), name).toEqual(
        foreignKeys
          .map((key) => key.reference())
          .flatMap(({ columns, foreignTable }) =>
            columns.map(({ name }) => `${name} ${getTableName(foreignTable)}`),
          )
          .sort(),
      );
    }
    const made = connection.client
      .prepare(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         AND name NOT LIKE 'function_text%' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name`,
      )
      .pluck()
      .all();
    expect(made).toEqual(tables.map(getTableName).sort());
    connection.close();
  });

  it('read the runtime facts of functions that were stored before', () => {
    const { client, close } = openConnection(file);
    const added = ['network', 'storage', 'pinned', 'images'];
    client.exec(
      'ALTER TABLE rendition RENAME TO form; DROP INDEX rendition_blob; CREATE INDEX form_blob ON form (blob); ALTER TABLE profile_rendition RENAME TO profile_form; ALTER TABLE unused_entry RENAME TO loose_entry',
    );
    client.exec('DROP TABLE function_text_words');
    client.exec('ALTER TABLE catalog DROP COLUMN deleted');
    client.exec('ALTER TABLE snapshot DROP COLUMN documents');
    client.exec('DROP TABLE catalog_segment; DROP TABLE segment; DROP TABLE release_file');
    client.exec('DROP TABLE oci_blob_bytes');
    client.exec('DROP TABLE takedown_pin; DROP TABLE release_pin; ALTER TABLE takedown DROP COLUMN scripts');
    client.exec(
      'DROP TABLE oci_upload_piece; DROP TABLE oci_upload; DROP TABLE one_time_secret; DROP TABLE operator_session; DROP TABLE setting',
    );
    client.exec(`ALTER TABLE function DROP COLUMN published; ${DROP_NEWER_TABLES}`);
    client.exec(
      'DROP INDEX upstream_function_entry; CREATE UNIQUE INDEX upstream_function_name ON upstream_function (group_name, kind_folded)',
    );
    for (const table of ['function', 'upstream_function'])
      for (const column of added) client.exec(`ALTER TABLE "${table}" DROP COLUMN "${column}"`);
    client.exec('DELETE FROM __drizzle_migrations WHERE created_at >= 1768521600000');
    client.pragma('foreign_keys = OFF');
    const image = `registry.example.com/fn@sha256:${'a1'.repeat(32)}`;
    const container = { container: { image, requireNetwork: true } };
    const definition = (...runtimes: unknown[]) =>
      JSON.stringify({ versions: runtimes.map((runtime) => ({ runtime })) });
    const insert = (table: string, row: Record<string, string | number>) => {
      const known = client.pragma(`table_info("${table}")`) as (ColumnInfo & { dflt_value: unknown })[];
      const missing = known.filter(
        ({ name, notnull, pk, dflt_value }) => !(name in row) && notnull && !pk && dflt_value === null,
      );
      const whole = {
        ...row,
        ...Object.fromEntries(missing.map(({ name, type }) => [name, type === 'integer' ? 1 : '[]'])),
      };
      client
        .prepare(
          `INSERT INTO "${table}" (${Object.keys(whole).join()}) VALUES (${Object.keys(whole)
            .map(() => '?')
            .join()})`,
        )
        .run(...Object.values(whole));
    };
    insert('function', { id: 1, group_name: 'example.com', kind: 'A', kind_folded: 'a', release: '1.1.0' });
    insert('release', {
      id: 1,
      function_id: 1,
      release: '1.0.0',
      definition: definition({ starlark: 'pass' }),
    });
    insert('release', { id: 2, function_id: 1, release: '1.1.0', definition: definition(container) });
    insert('upstream_function', {
      id: 2,
      group_name: 'example.org',
      kind: 'B',
      kind_folded: 'b',
      entry: 'sha256:b',
    });
    insert('catalog', { name: 'default', searched_serial: 3 });
    insert('entry', {
      digest: 'sha256:b',
      json: definition(container, { exec: { platforms: [{ uri: 'https://example.com/fn' }] } }),
    });
    close();

    const later = openConnection(file);
    const facts = (table: string) =>
      later.client.prepare(`SELECT network, storage, pinned, images FROM "${table}"`).raw().all();
    expect(facts('function')).toEqual([[1, 0, 1, '["registry.example.com/fn"]']]);
    // Upstream functions are found by digests, too.
    const names = JSON.stringify(['registry.example.com/fn', `sha256:${'a1'.repeat(32)}`]);
    expect(facts('upstream_function')).toEqual([[1, 1, 0, names]]);
    // Search reads all entries of catalogs again, because it had one of each name.
    expect(later.client.prepare('SELECT searched_serial FROM catalog').pluck().all()).toEqual([0]);
    expect(later.client.prepare('SELECT release, pin FROM release_pin').raw().all()).toEqual([
      [2, `sha256:${'a1'.repeat(32)}`],
    ]);
    later.close();
  });

  it.each([
    ['tables of its own', '', 'it has no tables of a registry'],
    [
      'migrations of its own',
      "CREATE TABLE __drizzle_migrations (hash, created_at); INSERT INTO __drizzle_migrations VALUES ('a', 1)",
      'krmhub knows none of its migrations',
    ],
  ])('of another program with %s are not touched', async (_, sql, reason) => {
    const client = new Database(file);
    client.exec(`CREATE TABLE bookmarks (url); ${sql}`);
    client.close();
    const before = readFileSync(file);
    const problem = {
      code: 'unavailable',
      message: `the database ${file} is of another program: ${reason}`,
      hint: expect.stringContaining('--data'),
    };
    await expect(openSqliteStore(file)).rejects.toMatchObject(problem);
    expect(() => openDatabaseState(file)).toThrow(expect.objectContaining(problem));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('that are not there are no registry of an older version', () => {
    writeFileSync(file, '');
    expect(() => openDatabaseState(file)).toThrow(
      expect.objectContaining({ code: 'unavailable', message: `no registry found: ${file} is empty` }),
    );
  });

  it('of a newer program are rejected, and the database stays as it is', async () => {
    await (await openSqliteStore(file)).close();
    const client = new Database(file);
    client
      .prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)')
      .run('f'.repeat(64), 9e12);
    client.exec('CREATE TABLE later (x)');
    client.close();
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('newer than this version of krmhub'),
      hint: expect.stringContaining('later'),
    });
    const untouched = new Database(file);
    expect(untouched.prepare('SELECT count(*) FROM later').pluck().get()).toBe(0);
    untouched.prepare('DELETE FROM __drizzle_migrations WHERE created_at = 9e12').run();
    untouched.close();
    await (await openSqliteStore(file)).close();
  });
});

describe('a write', () => {
  const add = (client: BetterSqlite3.Database, id: string) =>
    client.prepare('INSERT INTO written (id) VALUES (?)').run(id);

  it('has a savepoint only beside others', async () => {
    const { client, write, close } = openConnection(file);
    /** The driver's own name for it. */
    const hasSavepoint = () => {
      try {
        client.exec('ROLLBACK TO "\t_bs3.\t"');
        return true;
      } catch {
        return false;
      }
    };
    expect(await write(hasSavepoint)).toBe(false);
    expect(await Promise.all([write(hasSavepoint), write(hasSavepoint)])).toEqual([true, true]);
    const large = [write(hasSavepoint, { isLarge: true }), write(hasSavepoint, { isLarge: true })];
    expect(await Promise.all(large)).toEqual([false, false]);
    close();
  });

  it('that fails leaves nothing, alone and beside others', async () => {
    const { client, write, close } = openConnection(file);
    client.exec('CREATE TABLE written (id text)');
    const failing = (id: string) =>
      write(() => {
        add(client, id);
        throw new KrmhubError('conflict', id);
      });
    await expect(failing('a')).rejects.toMatchObject({ code: 'conflict', message: 'a' });
    const all = await Promise.allSettled([failing('b'), write(() => add(client, 'c')), failing('d')]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
    expect(client.prepare('SELECT id FROM written').pluck().all()).toEqual(['c']);
    close();
  });
});

describe('a database file', () => {
  it('is opened durably', () => {
    const { client, close } = openConnection(file);
    expect(client.pragma('journal_mode', { simple: true })).toBe('wal');
    // The log is synced outside of the commit.
    expect(client.pragma('synchronous', { simple: true })).toBe(1);
    expect(client.pragma('foreign_keys', { simple: true })).toBe(1);
    close();
  });

  it('syncs its log with what completes a part, not with the part, and seldom moves that of a large change', async () => {
    const main = openConnection(file);
    main.client.exec('CREATE TABLE word (word)');
    const { client, write, close } = openSecondConnection(file);
    const settings = () =>
      ['synchronous', 'wal_autocheckpoint'].map((name) => client.pragma(name, { simple: true }));
    const insert = (word: string, options?: WriteOptions) =>
      write(() => {
        client.prepare('INSERT INTO word VALUES (?)').run(word);
        if (word === 'fails') throw new Error('it fails');
        return settings();
      }, options);
    const [full, large, relaxed] = [
      [2, 1_000],
      [2, 32_000],
      [1, 32_000],
    ];
    expect(await insert('one', { isLarge: true })).toEqual(large);
    expect(await insert('two', { isPart: true })).toEqual(relaxed);
    await expect(insert('fails', { isPart: true })).rejects.toThrow('it fails');
    expect(settings()).toEqual(full);
    expect(await insert('three')).toEqual(full);
    expect(main.client.prepare('SELECT word FROM word').pluck().all()).toEqual(['one', 'two', 'three']);
    close();
    main.close();
  });

  it('is served by one process', async () => {
    const store = await openSqliteStore(file);
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('another process'),
    });
    await store.close();
    await (await openSqliteStore(file)).close();
  });

  it('can be read by other programs while it is served', async () => {
    const store = await openSqliteStore(file);
    await store.createToken(token, 'h');
    const other = new Database(file, { readonly: true });
    expect(other.prepare('SELECT count(*) FROM token').pluck().get()).toBe(1);
    other.close();
    await store.close();
  });

  it('that another program locks is unavailable for writing but can be read', async () => {
    const store = await openSqliteStore(file);
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    // Seconds pass between two attempts, so that none has to be waited for.
    let seconds = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => 1_000 * seconds++);
    await expect(store.createToken(token, 'h')).rejects.toMatchObject({ code: 'unavailable' });
    expect(seconds).toBeGreaterThan(5);
    await expect(store.check()).rejects.toMatchObject({ code: 'unavailable' });
    now.mockRestore();
    expect(await store.tokens()).toEqual([]);
    other.exec('ROLLBACK');
    other.close();
    await store.createToken(token, 'h');
    await store.close();
  });

  it('that is missing, replaced or cannot be created is unavailable', async () => {
    const store = await openSqliteStore(file);
    await store.check();
    await rename(file, `${file}.moved`);
    await expect(store.check()).rejects.toMatchObject({ code: 'unavailable' });
    await writeFile(file, '');
    await expect(store.check()).rejects.toMatchObject({ code: 'unavailable' });
    await store.close();
    await mkdir(path.join(folder, 'directory'));
    for (const wrong of [path.join(folder, 'missing', 'registry.db'), path.join(folder, 'directory')]) {
      await expect(openSqliteStore(wrong)).rejects.toMatchObject({ code: 'unavailable' });
    }
  });

  it('that is not a database is left alone', async () => {
    await writeFile(file, 'this is a text that its owner may need\n'.repeat(100));
    await expect(openSqliteStore(file)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the database is corrupt: the file is not a database (SQLITE_NOTADB)',
      hint: expect.stringContaining('krmhub fsck'),
    });
  });
});

describe('database errors', () => {
  it('report a full disk', async () => {
    const { client, write, close } = openConnection(file);
    client.pragma(`max_page_count = ${client.pragma('page_count', { simple: true })}`);
    const fill = client.prepare('INSERT INTO entry (digest, yaml, json) VALUES (?, ?, ?)');
    await expect(write(() => fill.run('d', 'x'.repeat(1e6), ''))).rejects.toMatchObject({
      code: 'storage-full',
    });
    close();
  });

  it('tell garbage in the pages of the database as damage, not as a fault of the registry', async () => {
    const store = await openSqliteStore(file);
    await store.createToken(token, 'h');
    await store.close();
    const client = new Database(file);
    const pageSize = client.pragma('page_size', { simple: true }) as number;
    const page = client.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'token'`).pluck().get();
    client.close();
    const bytes = readFileSync(file);
    bytes.fill(0xff, ((page as number) - 1) * pageSize, (page as number) * pageSize);
    writeFileSync(file, bytes);
    const readTokens = async () => {
      const damaged = await openSqliteStore(file);
      try {
        return await damaged.tokens();
      } finally {
        await damaged.close();
      }
    };
    await expect(readTokens()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/^the database is corrupt: its pages are inconsistent/),
    });
  });

  it('tell a write-ahead log that was cut off from a database that is in use', async () => {
    const connection = openConnection(file);
    const store = createStore(connection);
    for (const id of ['a', 'b', 'c', 'd']) await store.createToken({ ...token, id }, id);
    truncateSync(`${file}-wal`, statSync(`${file}-wal`).size / 2);
    expect(() => openDatabaseState(file)).toThrow(
      /the database is corrupt: the file or its write-ahead log \(-wal\) is truncated/,
    );
    await store.close();
  });

  it('pass through unrelated errors', async () => {
    const error = new TypeError('a mistake');
    await expect(
      attempt(() => {
        throw error;
      }),
    ).rejects.toBe(error);
  });
});

describe('concurrent writes', () => {
  const ids = (store: TokenStore) => store.tokens().then((tokens) => tokens.map(({ id }) => id).sort());
  const create = (store: TokenStore, id: string, hash = id, name = 'n') =>
    store.createToken({ ...token, id, name }, hash);

  it('are all stored, except one that fails', async () => {
    const store = await openSqliteStore(file);
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'a', 'c', 'd'].map((id, at) => create(store, id, String(at))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await ids(store)).toEqual(['a', 'b', 'c', 'd']);
    await store.close();
    const again = await openSqliteStore(file);
    expect(await ids(again)).toEqual(['a', 'b', 'c', 'd']);
    await again.close();
  });

  it('leave turns of the event loop between them to other requests', async () => {
    const store = await openSqliteStore(file);
    let stored = 0;
    const all = Promise.all(
      Array.from({ length: 50 }, (_, at) => create(store, String(at)).then(() => (stored += 1))),
    );
    const perTurn: number[] = [];
    while (stored < 50) {
      const before = stored;
      await nextTurn();
      perTurn.push(stored - before);
    }
    await all;
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(16);
    expect(await ids(store)).toHaveLength(50);
    await store.close();
  });

  it('report individually whether they were stored when the disk is full', async () => {
    const connection = openConnection(file);
    connection.client.pragma(`max_page_count = ${connection.client.pragma('page_count', { simple: true })}`);
    const store = createStore(connection);
    const all = Array.from({ length: 40 }, (_, at) => `t${String(at).padStart(2, '0')}`);
    const outcomes = await Promise.allSettled(
      all.map((id, at) => create(store, id, id, 'x'.repeat(at % 2 === 0 ? 10 : 50_000))),
    );
    const stored = all.filter((_, at) => outcomes[at]!.status === 'fulfilled');
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused) expect(error).toMatchObject({ code: 'storage-full' });
    expect(await ids(store)).toEqual(stored);
    await store.close();
  });

  it('wait for a pause that began while they wait for another program', async () => {
    const { client, write, pauseWrites, close } = openConnection(file);
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    let isWritten = false;
    const writing = write(() => client.exec('CREATE TABLE written (id text)')).then(() => {
      isWritten = true;
    });
    // The first attempt failed.
    await sleep(10);
    let end: () => void = () => undefined;
    const pausing = pauseWrites(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    other.exec('ROLLBACK');
    other.close();
    await sleep(30);
    expect(isWritten).toBe(false);
    end();
    await Promise.all([pausing, writing]);
    close();
  });

  it('wait for another program, then are stored', async () => {
    const store = await openSqliteStore(file);
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    const writes = Promise.all(['a', 'b'].map((id) => create(store, id)));
    await sleep(300);
    expect(await ids(store)).toEqual([]);
    other.exec('ROLLBACK');
    other.close();
    await writes;
    expect(await ids(store)).toEqual(['a', 'b']);
    await store.close();
  });
});
