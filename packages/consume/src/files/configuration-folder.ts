import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment } from '../ports.js';

/** The file of `krmhub login` in that folder. */
export const CREDENTIALS_FILE = 'credentials.json';

/** Returns `$XDG_CONFIG_HOME/krmhub` (XDG Base Directory). */
export function configurationFolder(io: Environment): string {
  const configured = io.env.XDG_CONFIG_HOME;
  const home = io.env.HOME ?? homedir();
  // The specification ignores relative paths.
  const base =
    configured !== undefined && path.isAbsolute(configured) ? configured : path.join(home, '.config');
  return path.join(base, 'krmhub');
}
