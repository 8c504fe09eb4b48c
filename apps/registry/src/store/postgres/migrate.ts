import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { KrmhubError } from '@krmhub/schema';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import type pg from 'pg';
import { postgresMark, refuseMoved } from '../copy/move-mark.js';
import { translatePostgresError } from './errors.js';
import { PrimaryClient } from './hosts.js';
import { numbered } from './numbered.js';
import { writerConfig } from './pool.js';
import { TIMES } from './processes/process-options.js';
import { RUNS, type Times } from './processes/process-table.js';
import { BEGIN_WRITE } from './write-locks.js';

/** At the root of the repository: the same relative path from dist and from src. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../../migrations/postgres', import.meta.url));
/** The first major version that the PostgreSQL project supports, times 10,000. */
const MIN_VERSION = 140_000;

/** Milliseconds between two looks at processes of an older version. */
const RETRY_MS = 500;

type Migration = ReturnType<typeof readMigrationFiles>[number];

/**
 * Applies the missing migrations and returns their number: those of a new database in one transaction, others in one
 * each, so that the next call continues if they are interrupted. Of processes that start together, one applies them, and
 * the others wait. Rejects with `unavailable` if the server cannot be reached, or the database is not one that this
 * version of krmhub can use, or was moved, or is used by processes of an older version that could not read its tables
 * any more; nothing is changed then.
 */
export async function migratePostgres(url: string, { isMove = false, times = TIMES } = {}): Promise<number> {
  // A migration of a large table takes longer than the statements of a pool may.
  let client: pg.Client | undefined;
  try {
    client = new PrimaryClient(writerConfig(url));
    await client.connect();
    await refuseUnknownServer(client);
    const known = knownMigrations();
    // Processes that were killed count until they are lost.
    const until = performance.now() + times.lost + times.renew;
    for (let applied = 0; ; ) {
      await client.query(BEGIN_WRITE);
      if (!isMove) refuseMoved(await postgresMark(client));
      await client.query(
        'CREATE TABLE IF NOT EXISTS "migration" ("hash" text PRIMARY KEY, "applied_at" timestamptz NOT NULL)',
      );
      const { missing, isNew } = await missingMigrations(client, known);
      const older = isNew ? 0 : await olderProcesses(client, missing, times);
      if (older > 0) {
        if (performance.now() > until) throw usedByOlder(older, applied);
        await client.query('ROLLBACK');
        await setTimeout(RETRY_MS);
        continue;
      }
      // A database that turns out to be of another program stays as it was.
      const next = isNew ? missing : missing.slice(0, 1);
      for (const migration of next) await apply(client, migration);
      await client.query('COMMIT');
      applied += next.length;
      if (next.length === missing.length) return applied;
    }
  } catch (error) {
    throw translatePostgresError(error);
  } finally {
    await client?.end().catch(() => undefined);
  }
}

async function refuseUnknownServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; number: number; encoding: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
      current_setting('server_encoding') AS encoding`,
  );
  const { version, number, encoding } = rows[0]!;
  if (number < MIN_VERSION) {
    throw new KrmhubError('unavailable', `the database server is PostgreSQL ${version}, which is too old`, {
      hint: `Use PostgreSQL ${MIN_VERSION / 10_000} or later.`,
    });
  }
  if (encoding !== 'UTF8') {
    throw new KrmhubError('unavailable', `the database has the encoding ${encoding}, not UTF8`, {
      hint: 'Create a database with: createdb --encoding=UTF8 --template=template0 krmhub',
    });
  }
}

/** Rejects with `unavailable` unless the database has the migrations of this version, and no others. */
export async function requireMigrated(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ found: number }>(
    `SELECT to_regclass('migration') IS NOT NULL AS found`,
  );
  const missing = rows[0]?.found
    ? (await missingMigrations(client, knownMigrations())).missing.length
    : undefined;
  if (missing === 0) return;
  throw new KrmhubError(
    'unavailable',
    missing === undefined ? 'no registry found in the database' : 'the database is not migrated yet',
    {
      hint:
        missing === undefined
          ? 'Set the database of a registry with --database-url or KRMHUB_DATABASE_URL.'
          : 'Nothing was changed. To check it or back it up before, use the version that last served it. To upgrade it, run `krmhub migrate`, or start this version of krmhub.',
    },
  );
}

async function apply(client: pg.Client, { sql, hash }: Migration): Promise<void> {
  await client.query(sql.join('')).catch(refuseForeignTables);
  await client.query('INSERT INTO "migration" VALUES ($1, now())', [hash]);
}

/**
 * Returns how many processes would not understand the tables after the migrations: those that run, if one raises the
 * version of the tables, because each was started by a version that lacks it. Later, they cannot join.
 */
async function olderProcesses(
  client: pg.Client,
  missing: readonly Migration[],
  times: Times,
): Promise<number> {
  if (!missing.some(({ sql }) => sql.some((text) => text.includes('"tables_version"')))) return 0;
  const known = await client.query(`SELECT FROM pg_class WHERE oid = to_regclass('process')`);
  if (known.rowCount === 0) return 0;
  const names: string[] = [];
  const text = numbered(`SELECT count(*) AS running FROM "process" WHERE ${RUNS}`, names);
  const values: Record<string, number> = { lost: times.lost };
  const { rows } = await client.query<{ running: number }>(
    text,
    names.map((name) => values[name]),
  );
  return rows[0]!.running;
}

function usedByOlder(processes: number, applied: number): KrmhubError {
  const count = processes === 1 ? 'a process' : `${processes} processes`;
  return new KrmhubError('unavailable', `the database is used by ${count} of an older version of krmhub`, {
    // A process can join between two migrations.
    hint: `${applied === 0 ? 'Nothing was changed. ' : ''}Stop all processes of the registry, then start this version.`,
  });
}

function knownMigrations(): Migration[] {
  return readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
}

async function missingMigrations(
  client: pg.Client,
  known: readonly Migration[],
): Promise<{ missing: Migration[]; isNew: boolean }> {
  const { rows } = await client.query<{ hash: string }>('SELECT "hash" FROM "migration"');
  const applied = new Set(rows.map(({ hash }) => hash));
  const missing = known.filter(({ hash }) => !applied.delete(hash));
  if (applied.size === 0) return { missing, isNew: rows.length === 0 };
  throw new KrmhubError(
    'unavailable',
    `the database is newer than this version of krmhub: ${applied.size} of ${rows.length} migrations are unknown`,
    { hint: 'Nothing was changed. Use the version of krmhub that last served it, or a later version.' },
  );
}

/** Rejects a database that another program uses. */
function refuseForeignTables(error: unknown): never {
  const { code, message } = error as { code?: string; message?: string };
  if (code !== '42P07') throw error;
  throw new KrmhubError('unavailable', `the database has tables of another program: ${message}`, {
    hint: 'Nothing was changed. Create a database for krmhub alone.',
    cause: error,
  });
}
