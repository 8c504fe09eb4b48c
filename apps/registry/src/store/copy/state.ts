import type { Digest } from '@krmhub/schema';
import type { DatabasePlace } from '../database-place.js';
import { connect } from '../postgres/client.js';
import { translatePostgresError } from '../postgres/errors.js';
import { requireMigrated } from '../postgres/migrate.js';
import { openDatabaseState } from '../sqlite/state.js';
import type { RowReader } from './copy-rows.js';
import { FILE_PARTS, NAMED_FILES, type NamedFiles } from './named-files.js';
import { postgresReader } from './postgres-rows.js';
import { sqliteReader } from './sqlite-rows.js';

/** A database in the state at which it was opened, regardless of later writes. */
export interface RowState {
  rows: RowReader;
  namedFiles(): Promise<NamedFiles>;
  close(): Promise<void>;
}

/**
 * Opens a database read-only, also while a registry runs. Rejects with `unavailable` if it cannot be read, or its
 * tables are of another version.
 */
export async function openRowState(place: DatabasePlace): Promise<RowState> {
  return 'file' in place ? sqliteState(place.file) : postgresState(place.url);
}

function sqliteState(file: string): RowState {
  const { client, close } = openDatabaseState(file);
  return {
    rows: sqliteReader(client),
    namedFiles: () => namedFiles(async (part) => client.prepare<[], Digest>(NAMED_FILES[part]).pluck().all()),
    close: async () => close(),
  };
}

async function postgresState(url: string): Promise<RowState> {
  const client = await connect(url);
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await requireMigrated(client);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw translatePostgresError(error);
  }
  return {
    rows: postgresReader(client),
    namedFiles: () =>
      namedFiles(async (part) => {
        const { rows } = await client
          .query<[Digest][]>({ text: NAMED_FILES[part], rowMode: 'array' })
          .catch((error) => {
            throw translatePostgresError(error);
          });
        return rows.map(([digest]) => digest as unknown as Digest);
      }),
    close: () => client.end().catch(() => undefined),
  };
}

async function namedFiles(digests: (part: keyof NamedFiles) => Promise<Digest[]>): Promise<NamedFiles> {
  const named: NamedFiles = { blobs: [], artifacts: [], copies: [] };
  for (const part of FILE_PARTS) named[part] = await digests(part);
  return named;
}
