import type { DataPaths } from './data-folder.js';
import { type DatabasePlace, knownPlace } from './database-place.js';
import { migratePostgres } from './postgres/migrate.js';
import { countMigrations, openConnection } from './sqlite/connection.js';

/**
 * Applies the missing migrations, as the start of a registry does, and returns their number. Rejects with `usage` if
 * the database is elsewhere, and `unavailable` if a registry serves a SQLite database, or it is newer.
 */
export async function migrateDatabase(
  paths: Pick<DataPaths, 'database' | 'databaseRecord'>,
  url: string | undefined,
): Promise<{ place: DatabasePlace; applied: number }> {
  const place = knownPlace(paths, url);
  if ('url' in place) return { place, applied: await migratePostgres(place.url) };
  const before = countMigrations(place.file);
  const connection = openConnection(place.file);
  connection.close();
  return { place, applied: countMigrations(place.file) - before };
}
