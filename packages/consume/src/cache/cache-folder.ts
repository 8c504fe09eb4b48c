import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment, WorkingFolder } from '../ports.js';

/** Returns the folder of the cache: `$KRMHUB_CACHE`, else `$XDG_CACHE_HOME/krmhub`, else `~/.cache/krmhub`. */
export function cacheFolder({ env, cwd }: Environment & WorkingFolder): string {
  const own = env.KRMHUB_CACHE ?? '';
  if (own !== '') return path.resolve(cwd, own);
  const base = env.XDG_CACHE_HOME ?? '';
  // The XDG specification ignores relative paths.
  return path.join(path.isAbsolute(base) ? base : path.join(env.HOME ?? homedir(), '.cache'), 'krmhub');
}
