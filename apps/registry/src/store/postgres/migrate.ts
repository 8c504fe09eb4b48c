import { fileURLToPath } from 'node:url';
import { KrmhubError } from '@krmhub/schema';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import pg from 'pg';
import { translatePostgresError } from './errors.js';
import { clientConfig } from './pool.js';
import { BEGIN_WRITE } from './postgres-sql.js';

/** At the root of the repository: the same relative path from dist and from src. */
const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../../../migrations/postgres', import.meta.url));
/** The first major version that the PostgreSQL project supports, times 10,000. */
const MIN_VERSION = 140_000;

/**
 * Applies the missing migrations in one transaction. Of processes that start together, one applies them, and the
 * others wait. Rejects with `unavailable` if the server cannot be reached, or the database is not one that this version
 * of krmhub can use; nothing is changed then.
 */
export async function migratePostgres(url: string): Promise<void> {
  // A migration of a large table takes longer than the statements of a pool may.
  const client = new pg.Client(clientConfig(url));
  client.on('error', () => undefined);
  try {
    await client.connect();
    await refuseUnknownServer(client);
    await client.query(BEGIN_WRITE);
    await client.query(
      'CREATE TABLE IF NOT EXISTS "migration" ("hash" text PRIMARY KEY, "applied_at" timestamptz NOT NULL)',
    );
    await applyMissing(client);
    await client.query('COMMIT');
  } catch (error) {
    throw translatePostgresError(error);
  } finally {
    await client.end().catch(() => undefined);
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

async function applyMissing(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ hash: string }>('SELECT "hash" FROM "migration"');
  const applied = new Set(rows.map(({ hash }) => hash));
  const known = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  const missing = known.filter(({ hash }) => !applied.delete(hash));
  if (applied.size > 0) {
    throw new KrmhubError(
      'unavailable',
      `the database is newer than this version of krmhub: ${applied.size} of ${rows.length} migrations are unknown`,
      { hint: 'Nothing was changed. Use the version of krmhub that last served it, or a later version.' },
    );
  }
  for (const { sql, hash } of missing) {
    await client.query(sql.join('')).catch(refuseForeignTables);
    await client.query('INSERT INTO "migration" VALUES ($1, now())', [hash]);
  }
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
