import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';
import { makeFolder } from '@krmhub/sources/make-folder';

/** Paths in the data folder. The registry stores nothing outside of it. */
export interface DataPaths {
  database: string;
  /** Says that the database is not in this folder. */
  databaseRecord: string;
  /** Search index of a database that is not in this folder. It can be deleted. */
  searchIndex: string;
  /** Published definitions and READMEs. */
  blobs: string;
  /**
   * Profiles of snapshots. They can be written again, and are deleted when a snapshot grows old. They have their own
   * folder, so that deleting one never deletes a published file with the same bytes.
   */
  profiles: string;
  /** Blobs that were pushed to repositories; unreferenced ones are deleted. */
  artifacts: string;
  /** Where blobs and artifacts are, if they are in an S3-compatible store. */
  blobStore: string;
  /** Copies of blobs of that store, and uploads to it. */
  blobCache: string;
  /** Copies of the upstream catalogs of recipes, as fetched. */
  copies: string;
  /** Temporary files of running fetches; emptied at every start. */
  fetching: string;
  /** Keys that sign snapshots. */
  keys: string;
  adminToken: string;
  /** Takedowns, one JSON object per line: applied again to a database restored from an older backup. */
  takedowns: string;
}

export function dataPaths(folder: string): DataPaths {
  return {
    database: path.join(folder, 'registry.db'),
    databaseRecord: path.join(folder, 'database.json'),
    searchIndex: path.join(folder, 'search.db'),
    blobs: path.join(folder, 'blobs'),
    profiles: path.join(folder, 'forms'),
    artifacts: path.join(folder, 'artifacts'),
    blobStore: path.join(folder, 'blob-store.json'),
    blobCache: path.join(folder, 'blob-cache'),
    copies: path.join(folder, 'copies'),
    fetching: path.join(folder, 'fetching'),
    keys: path.join(folder, 'keys'),
    adminToken: path.join(folder, 'admin.token'),
    takedowns: path.join(folder, 'takedowns.jsonl'),
  };
}

/**
 * Creates the folder, for its owner only, if it is missing. Rejects with `usage` if it cannot be created or written.
 */
export async function prepareDataFolder(folder: string): Promise<DataPaths> {
  try {
    await makeFolder(folder, 0o700);
    if (!(await stat(folder)).isDirectory()) throw new Error('it is not a folder');
  } catch (cause) {
    throw new KrmhubError('usage', `cannot create the data folder ${folder}: ${(cause as Error).message}`, {
      hint: 'Use another folder with --data or KRMHUB_DATA, or fix its permissions.',
      cause,
    });
  }
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { uid, gid } = await stat(folder);
    const reason = (cause as NodeJS.ErrnoException).code === 'EROFS' ? ': its file system is read-only' : '';
    throw new KrmhubError('usage', `cannot write to the data folder ${folder}${reason}`, {
      hint: `Change its owner from user ${uid} and group ${gid} to the account that runs the registry.`,
      cause,
    });
  }
  return dataPaths(folder);
}
