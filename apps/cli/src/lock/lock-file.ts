import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Lock } from '@krmhub/catalog';
import { LOCK_FILE, LOCK_LIMITS } from '@krmhub/catalog/lock/lock';
import type { ReadLock } from '@krmhub/catalog/lock/read-lock';
import { diskError, readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { shellWord } from '@krmhub/schema/text';
import { displayPath } from './display-path.js';

/** A lock file as it is on disk. */
export interface StoredLock {
  lock: Lock;
  text: string;
  positionOf: NonNullable<ReadLock['positionOf']>;
}

export const EMPTY_LOCK: Lock = { catalogs: [], functions: [] };

/** Returns the path of the lock file: `--lock`, else krmhub.lock in the folder of the package. */
export function lockPath(io: WorkingFolder, folder: string, file: string | undefined): string {
  return file === undefined ? path.join(folder, LOCK_FILE) : path.resolve(io.cwd, file);
}

/** What a user adds to a command for a package, so that a hint can repeat it. */
export interface LockCommandOptions {
  folder: string;
  /** `--lock`. */
  lock?: string | undefined;
  /** `--image-prefix`. */
  imagePrefix?: string | undefined;
}

/** Returns the command that locks a package, for hints. */
export function lockCommand(io: WorkingFolder, { folder, lock, imagePrefix }: LockCommandOptions): string {
  const full = path.resolve(io.cwd, folder);
  const isOwn = lockPath(io, full, lock) === lockPath(io, full, undefined);
  const option = isOwn ? '' : ` --lock ${shellWord(lock!)}`;
  const prefix = imagePrefix === undefined ? '' : ` --image-prefix ${shellWord(imagePrefix)}`;
  return `krmhub lock ${shellWord(displayPath(io, folder))}${option}${prefix}`;
}

/** Returns the folder of a package, without links: the path itself, or the folder of the file. Throws `not-found`. */
export async function packageFolder(io: WorkingFolder, target: string): Promise<string> {
  try {
    const full = await realpath(path.resolve(io.cwd, target));
    return (await stat(full)).isDirectory() ? full : path.dirname(full);
  } catch (error) {
    throw diskError(error, `cannot read ${target}`);
  }
}

/** Reads a lock file; undefined if there is none. Throws `invalid-document` with every problem. */
export async function readLockFile(
  io: WorkingFolder,
  file: string,
  command: string,
): Promise<StoredLock | undefined> {
  const name = path.relative(io.cwd, file);
  let bytes: Uint8Array;
  try {
    bytes = await readFileUpTo(io, file, LOCK_LIMITS.maxBytes);
  } catch (error) {
    if (error instanceof KrmhubError && error.code === 'not-found') return undefined;
    throw error;
  }
  // Loads the whole lint, and most packages have no lock file.
  const { readLock } = await import('@krmhub/catalog/lock/read-lock');
  const { lock, diagnostics, positionOf } = readLock(bytes, name);
  if (lock !== undefined && positionOf !== undefined) {
    return { lock, text: new TextDecoder().decode(bytes), positionOf };
  }
  throw new KrmhubError('invalid-document', `cannot read the lock file ${name}`, {
    diagnostics,
    hint: `Fix or remove the file, and run: ${command}`,
  });
}
