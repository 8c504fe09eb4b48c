import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import type { DataPaths } from './data-folder.js';

/** Where the database is: the path of a SQLite file, or the URL of PostgreSQL, which may have a password. */
export type DatabasePlace = { file: string } | { url: string };

/**
 * Returns the place of the database of a data folder. Rejects with `usage` if the folder belongs to a registry with its
 * database in another place: it would start empty.
 */
export async function databasePlace(paths: DataPaths, url: string | undefined): Promise<DatabasePlace> {
  if (url === undefined) {
    refusePostgres(paths);
    return { file: paths.database };
  }
  if (existsSync(paths.database)) {
    throw new KrmhubError('usage', `the database of this registry is ${paths.database}, not in PostgreSQL`, {
      hint: 'Use another data folder, or remove --database-url and KRMHUB_DATABASE_URL.',
    });
  }
  await writeFile(paths.databaseRecord, `${JSON.stringify({ database: 'postgres' })}\n`);
  return { url };
}

/** Throws `usage` if the database of a data folder is in PostgreSQL. */
export function refusePostgres(paths: Pick<DataPaths, 'databaseRecord'>): void {
  if (!existsSync(paths.databaseRecord)) return;
  throw new KrmhubError('usage', 'the database of this registry is in PostgreSQL', {
    hint: 'Serve it with --database-url or KRMHUB_DATABASE_URL, and back it up with the tools of PostgreSQL.',
  });
}
