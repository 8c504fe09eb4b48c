import { existsSync } from 'node:fs';
import { KrmhubError } from '@krmhub/schema';
import type { DataPaths } from './data-folder.js';
import { type DatabasePlace, knownPlace } from './database-place.js';
import { migratePostgres } from './postgres/migrate.js';
import { countMigrations, openConnection } from './sqlite/connection.js';

/**
 * Applies the missing migrations, as the start of a registry does, and returns their number. An empty database of
 * PostgreSQL gets its tables. Rejects with `usage` if the database is in another place, and `unavailable` if a SQLite
 * database is missing, a registry serves it, or it is newer.
 */
export async function migrateDatabase(
  paths: DataPaths,
  url: string | undefined,
): Promise<{ place: DatabasePlace; applied: number }> {
  const place = knownPlace(paths, url);
  if ('url' in place) return { place, applied: await migratePostgres(place.url) };
  if (!existsSync(place.file)) {
    throw new KrmhubError('unavailable', `no registry found: ${place.file} is missing`, {
      hint: 'Set the data folder of a registry with --data or KRMHUB_DATA.',
    });
  }
  const before = countMigrations(place.file);
  const connection = openConnection(place.file);
  connection.close();
  return { place, applied: countMigrations(place.file) - before };
}
