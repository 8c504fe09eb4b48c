import { access, constants, stat } from 'node:fs/promises';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema';
import { makeFolder } from '@krmhub/sources/make-folder';

/** What is where in the data folder. Nothing else is kept anywhere. */
export interface DataPaths {
  database: string;
  /** Definitions and READMEs as they were published. */
  blobs: string;
  /**
   * Forms of snapshots, which can be made again and are deleted when a snapshot grows old. They stand apart, so
   * that deleting one never takes a published file of the same bytes with it.
   */
  forms: string;
  /** Blobs that were pushed to repositories; what nothing names any more is deleted. */
  artifacts: string;
  /** Copies of the catalogs elsewhere that recipes take from, as they were fetched. */
  copies: string;
  /** What is being fetched; emptied at every start. */
  fetching: string;
  /** Keys by which snapshots are signed. */
  keys: string;
  adminToken: string;
  /** Takedowns, one JSON object a line: applied again to a database that was restored from an older backup. */
  takedowns: string;
}

export function dataPaths(folder: string): DataPaths {
  return {
    database: path.join(folder, 'registry.db'),
    blobs: path.join(folder, 'blobs'),
    forms: path.join(folder, 'forms'),
    artifacts: path.join(folder, 'artifacts'),
    copies: path.join(folder, 'copies'),
    fetching: path.join(folder, 'fetching'),
    keys: path.join(folder, 'keys'),
    adminToken: path.join(folder, 'admin.token'),
    takedowns: path.join(folder, 'takedowns.jsonl'),
  };
}

/**
 * Makes the folder, for its owner only, where it is not there; rejects with `usage` where it cannot be one or
 * cannot be written.
 */
export async function prepareDataFolder(folder: string): Promise<DataPaths> {
  try {
    await makeFolder(folder, 0o700);
    if (!(await stat(folder)).isDirectory()) throw new Error('it is not a folder');
  } catch (cause) {
    throw new KrmhubError('usage', `cannot create the data folder ${folder}: ${(cause as Error).message}`, {
      hint: 'Choose another folder with --data or KRMHUB_DATA, or fix its permissions.',
      cause,
    });
  }
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { uid, gid } = await stat(folder);
    const reason = (cause as NodeJS.ErrnoException).code === 'EROFS' ? ': its file system is read-only' : '';
    throw new KrmhubError('usage', `cannot write to the data folder ${folder}${reason}`, {
      hint: `It belongs to user ${uid} and group ${gid}. Change its owner to the account that runs the registry.`,
      cause,
    });
  }
  return dataPaths(folder);
}
