import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import type { Environment } from './run-program.js';

/**
 * Returns the path of a program on the PATH of an environment; undefined if it is not installed. Relative folders are
 * skipped: what is in the working directory must not become the program.
 */
export async function findProgram(name: string, env: Environment): Promise<string | undefined> {
  const isWindows = platform() === 'win32';
  const search = env.PATH ?? (isWindows ? env.Path : undefined) ?? '';
  for (const folder of search.split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    const file = path.join(folder, isWindows ? `${name}.exe` : name);
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

export async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
