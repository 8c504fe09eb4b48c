import path from 'node:path';
import type { Config } from '@krmhub/registry';
import { defined } from '@krmhub/schema/defined';
import type { Io } from '../io/io.js';

/** Files of a registry are for its account only: the database has the hashes of tokens. */
export function keepFilesPrivate(io: Io): void {
  io.setUmask(0o077);
}

/** Where a registry is: its data folder, its database in PostgreSQL, its keys, and the S3-compatible store of its blobs. */
export interface Storage extends Pick<Config, 'databaseUrl' | 'blobPlace' | 's3Credentials'> {
  /** Absolute path. */
  dataFolder: string;
  /** Absolute path of the folder of the keys; absent if it is in the data folder. */
  keysFolder?: string;
}

export interface StorageOptions {
  data?: string | undefined;
  keys?: string | undefined;
  databaseUrl?: string | undefined;
  blobUrl?: string | undefined;
}

/**
 * Returns the data folder: `--data`, else KRMHUB_DATA, else ./data; and as these, the folder of the keys, the database,
 * and the store of the blobs. The files that the command then writes are private.
 */
export async function resolveStorage(
  io: Io,
  options: StorageOptions,
  env: Io['env'] = io.env,
): Promise<Storage> {
  keepFilesPrivate(io);
  const { loadConfig } = await import('@krmhub/registry/operate');
  const { data, keys, databaseUrl: database, blobUrl } = options;
  const given = defined({ data, keys, databaseUrl: database, blobUrl });
  const config = await loadConfig(env, given, io.cwd);
  const { dataFolder, keysFolder, databaseUrl, blobPlace, s3Credentials } = config;
  return {
    dataFolder: path.resolve(io.cwd, dataFolder),
    ...defined({
      keysFolder: keysFolder === undefined ? undefined : path.resolve(io.cwd, keysFolder),
      databaseUrl,
      blobPlace,
      s3Credentials,
    }),
  };
}
