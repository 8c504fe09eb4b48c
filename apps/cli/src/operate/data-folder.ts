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

/** The data folder of a command, and the S3-compatible store of its blobs. */
export interface Storage {
  /** Absolute path. */
  dataFolder: string;
  blobs: Pick<Config, 'blobPlace' | 's3Credentials'>;
}

/** As `resolveDataFolder`, with the store of the blobs: `--blob-url`, else KRMHUB_BLOB_URL. */
export async function resolveStorage(
  io: Io,
  { data, blobUrl }: { data?: string | undefined; blobUrl?: string | undefined },
): Promise<Storage> {
  keepFilesPrivate(io);
  const { loadConfig } = await import('@krmhub/registry/operate');
  const given = { ...(data === undefined ? {} : { data }), ...(blobUrl === undefined ? {} : { blobUrl }) };
  const { dataFolder, blobPlace, s3Credentials } = await loadConfig(io.env, given, io.cwd);
  return {
    dataFolder: path.resolve(io.cwd, dataFolder),
    blobs: {
      ...(blobPlace === undefined ? {} : { blobPlace }),
      ...(s3Credentials === undefined ? {} : { s3Credentials }),
    },
  };
}
