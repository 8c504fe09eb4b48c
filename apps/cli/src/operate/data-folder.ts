import path from 'node:path';
import type { Config } from '@krmhub/registry';
import type { Io } from '../io/io.js';

/** Files of a registry are for its account only: the database has the hashes of tokens. */
export function keepFilesPrivate(io: Io): void {
  io.setUmask(0o077);
}

/**
 * Returns the absolute path of the data folder: `--data`, else KRMHUB_DATA, else ./data. The files that the command
 * then writes are private.
 */
export async function resolveDataFolder(io: Io, option: string | undefined): Promise<string> {
  return (await resolveStorage(io, { data: option })).dataFolder;
}

/** Where a registry is: its data folder, its database in PostgreSQL, and the S3-compatible store of its blobs. */
export interface Storage extends Pick<Config, 'databaseUrl' | 'blobPlace' | 's3Credentials'> {
  /** Absolute path. */
  dataFolder: string;
}

export interface StorageOptions {
  data?: string | undefined;
  databaseUrl?: string | undefined;
  blobUrl?: string | undefined;
}

/**
 * As `resolveDataFolder`, with the database and the store of the blobs: `--database-url` and `--blob-url`, else
 * KRMHUB_DATABASE_URL and KRMHUB_BLOB_URL.
 */
export async function resolveStorage(io: Io, options: StorageOptions): Promise<Storage> {
  keepFilesPrivate(io);
  const { loadConfig } = await import('@krmhub/registry/operate');
  const { data, databaseUrl: database, blobUrl } = options;
  const given = {
    ...(data === undefined ? {} : { data }),
    ...(database === undefined ? {} : { databaseUrl: database }),
    ...(blobUrl === undefined ? {} : { blobUrl }),
  };
  const { dataFolder, databaseUrl, blobPlace, s3Credentials } = await loadConfig(io.env, given, io.cwd);
  return {
    dataFolder: path.resolve(io.cwd, dataFolder),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    ...(blobPlace === undefined ? {} : { blobPlace }),
    ...(s3Credentials === undefined ? {} : { s3Credentials }),
  };
}
