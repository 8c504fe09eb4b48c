import path from 'node:path';
import type { Io } from '../io/io.js';

/** The absolute path of the data folder: `--data`, else KRMHUB_DATA, else ./data. */
export async function resolveDataFolder(io: Io, option: string | undefined): Promise<string> {
  const { loadConfig } = await import('@krmhub/registry/operate');
  const config = await loadConfig(io.env, option === undefined ? {} : { data: option }, io.cwd);
  return path.resolve(io.cwd, config.dataFolder);
}
