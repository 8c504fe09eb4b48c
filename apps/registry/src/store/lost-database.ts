/**
 * A data folder without its database looks like a new one: a copy that failed on a full disk, a wrong mount, or an
 * interrupted restore leaves it. A registry that started there would be empty, and accept new releases.
 *
 * A first start makes the tables before the first key, and the default catalog before the folders of files. So they show
 * that there was a database with tables or rows, also if that start was killed.
 */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';
import { paths as pathsIn } from './blobs/folder.js';
import type { DataPaths } from './data-folder.js';
import type { RegistryStore } from './registry-store.js';
import { countMigrations } from './sqlite/connection.js';

/** Returns the names of files and folders that only a registry with a database makes. Keys are first. */
export function registryFiles(paths: DataPaths): string[] {
  const found = [
    namesIn(paths.keys).some((name) => name.endsWith('.pem') && !name.startsWith('.')) && paths.keys,
    ...[paths.blobs, paths.artifacts, paths.profiles, paths.copies].map(
      (folder) => existsSync(pathsIn.blobs(folder)) && folder,
    ),
    fileSize(paths.takedowns) > 0 && paths.takedowns,
    isClaimed(paths.blobStore) && paths.blobStore,
    fileSize(paths.database) === 0 && fileSize(`${paths.database}-wal`) > 0 && `${paths.database}-wal`,
  ];
  return found.flatMap((file) => (file === false ? [] : path.basename(file)));
}

/** Returns what is wrong if the SQLite database of a data folder is missing or empty; undefined for a new folder. */
export function findLostDatabase(paths: DataPaths): string | undefined {
  // The database is in PostgreSQL.
  if (existsSync(paths.databaseRecord)) return undefined;
  const state = describeState(paths.database);
  return state && describeLoss(`${paths.database} ${state}`, registryFiles(paths));
}

/** Returns what is wrong if a database has no events, but the data folder has files that were made after the first one. */
export function findLostRows(paths: DataPaths, { events }: { events: number }): string | undefined {
  if (events > 0) return undefined;
  // A killed first start leaves them, and several processes get copies before their first start.
  const files = registryFiles(paths).filter((name) => name !== 'keys');
  return describeLoss('the database is empty', files);
}

/**
 * Rejects with `unavailable` if a database has no rows of the registry in the data folder, or names files in a folder
 * that is missing.
 */
export async function refuseLostFiles(
  paths: DataPaths,
  store: RegistryStore,
  { hasFolders }: { hasFolders: boolean },
): Promise<void> {
  const problem = findLostRows(paths, { events: await store.lastEvent() });
  if (problem !== undefined) throw lostDatabase(problem);
  // Where the blobs are in S3, opening them says so.
  const isElsewhere = isClaimed(paths.blobStore) || (await store.setting('blob-store')) !== undefined;
  for (const part of hasFolders && !isElsewhere ? (['blobs', 'artifacts'] as const) : []) {
    const folder = pathsIn.blobs(paths[part]);
    if (existsSync(folder) || !(await store.namesFile(part))) continue;
    throw new KrmhubError('unavailable', `the files of this registry are missing: ${folder} does not exist`, {
      hint: `Check that the right disk is mounted, or restore the registry from a backup. To start without the files, create the folder: mkdir -p ${folder}`,
    });
  }
}

export function lostDatabase(problem: string): KrmhubError {
  return new KrmhubError('unavailable', problem, { hint: LOST_HINT });
}

export const LOST_HINT =
  'Check that the right disk is mounted and the right database is set, or restore the registry from a backup. For a new registry, use an empty folder with --data or KRMHUB_DATA.';

function describeLoss(problem: string, files: readonly string[]): string | undefined {
  if (files.length === 0) return undefined;
  return `${problem}, but the data folder has files of a registry: ${files.join(', ')}`;
}

/** Returns what a database lacks. Of a file that cannot be read as one, the command that opens it reports the damage. */
function describeState(file: string): string | undefined {
  if (!existsSync(file)) return 'is missing';
  if (fileSize(file) === 0) return 'is empty';
  try {
    return countMigrations(file) === 0 ? 'has no tables of a registry' : undefined;
  } catch {
    return undefined;
  }
}

function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Until an interrupted first start has claimed the store, nothing is there. */
function isClaimed(file: string): boolean {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { isNew?: true }).isNew !== true;
  } catch {
    return fileSize(file) > 0;
  }
}
