import { fileURLToPath } from 'node:url';
import { KrmhubError } from '@krmhub/schema';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import pg from 'pg';
import { postgresMark, refuseMoved } from '../copy/move-mark.js';
import { translatePostgresError } from './errors.js';
import { writerConfig } from './pool.js';
import { BEGIN_WRITE } from './postgres-sql.js';

/** At the root of the repository: the same relative path from dist and from src. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../../migrations/postgres', import.meta.url));
/** The first major version that the PostgreSQL project supports, times 10,000. */
const MIN_VERSION = 140_000;

/**
 * Applies the missing migrations in one transaction, and returns their number. Of processes that start together, one applies them, and the
 * others wait. Rejects with `unavailable` if the server cannot be reached, or the database is not one that this version
 * of krmhub can use, or was moved; nothing is changed then.
 */
export async function migratePostgres(url: string, { isMove = false } = {}): Promise<number> {
  // A migration of a large table takes longer than the statements of a pool may.
  let client: pg.Client | undefined;
  try {
    client = new pg.Client(writerConfig(url));
    client.on('error', () => undefined);
    await client.connect();
    await refuseUnknownServer(client);
    await client.query(BEGIN_WRITE);
    if (!isMove) refuseMoved(await postgresMark(client));
    await client.query(
      'CREATE TABLE IF NOT EXISTS "migration" ("hash" text PRIMARY KEY, "applied_at" timestamptz NOT NULL)',
    );
    const applied = await applyMissing(client);
    await client.query('COMMIT');
    return applied;
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
  const missing = rows[0]?.found ? (await missingMigrations(client)).length : undefined;
  if (missing === 0) return;
  throw new KrmhubError(
    'unavailable',
    missing === undefined ? 'no registry found in the database' : 'the database is not migrated yet',
    {
      hint:
        missing === undefined
          ? 'Set the database of a registry with --database-url or KRMHUB_DATABASE_URL.'
          : 'Nothing was changed. Run `krmhub migrate`, or start this version of krmhub.',
    },
  );
}

async function applyMissing(client: pg.Client): Promise<number> {
  const missing = await missingMigrations(client);
  for (const { sql, hash } of missing) {
    await client.query(sql.join('')).catch(refuseForeignTables);
    await client.query('INSERT INTO "migration" VALUES ($1, now())', [hash]);
  }
  return missing.length;
}

async function missingMigrations(client: pg.Client) {
  const { rows } = await client.query<{ hash: string }>('SELECT "hash" FROM "migration"');
  const applied = new Set(rows.map(({ hash }) => hash));
  const known = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  const missing = known.filter(({ hash }) => !applied.delete(hash));
  if (applied.size === 0) return missing;
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
