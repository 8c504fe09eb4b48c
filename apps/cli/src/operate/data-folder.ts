import path from 'node:path';
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
  keepFilesPrivate(io);
  const { loadConfig } = await import('@krmhub/registry/operate');
  const config = await loadConfig(io.env, option === undefined ? {} : { data: option }, io.cwd);
  return path.resolve(io.cwd, config.dataFolder);
}
