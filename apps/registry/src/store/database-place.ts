import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { KrmhubError } from '@krmhub/schema';
import type { DataPaths } from './data-folder.js';
import { findLostDatabase, lostDatabase } from './lost-database.js';

/**
 * Where the database is: the path of a SQLite file, or the URL of PostgreSQL, which may have a password. `process` is
 * the ID of the process for which a thread writes.
 */
export type DatabasePlace = { file: string } | { url: string; process?: string };

/** Returns the place for a thread that writes for a process. */
export function writingFor(place: DatabasePlace, process: string | undefined): DatabasePlace {
  return 'url' in place && process !== undefined ? { ...place, process } : place;
}

/**
 * Returns the place of the database of a data folder. Rejects with `usage` if the folder belongs to a registry with its
 * database in another place, and `unavailable` if its SQLite database is lost: it would start empty.
 */
export async function databasePlace(paths: DataPaths, url: string | undefined): Promise<DatabasePlace> {
  const place = knownPlace(paths, url);
  if ('url' in place) await recordPostgres(paths);
  return place;
}

/** Notes in a data folder that its database is in PostgreSQL. */
export async function recordPostgres(paths: DataPaths): Promise<void> {
  await writeFile(paths.databaseRecord, `${JSON.stringify({ database: 'postgres' })}\n`);
}

/** As `databasePlace`, without a change to the data folder. */
export function knownPlace(paths: DataPaths, url: string | undefined): DatabasePlace {
  if (url === undefined) {
    refusePostgres(paths);
    const problem = findLostDatabase(paths);
    if (problem !== undefined) throw lostDatabase(problem);
    return { file: paths.database };
  }
  if (existsSync(paths.database)) {
    throw new KrmhubError('usage', `the database of this registry is ${paths.database}, not in PostgreSQL`, {
      hint: 'Use another data folder, or remove --database-url and KRMHUB_DATABASE_URL. To move the registry, run `krmhub move`.',
    });
  }
  return { url };
}

function refusePostgres(paths: DataPaths): void {
  if (!existsSync(paths.databaseRecord)) return;
  throw new KrmhubError('usage', 'the database of this registry is in PostgreSQL', {
    hint: 'Set its URL with --database-url or KRMHUB_DATABASE_URL.',
  });
}
