import path from 'node:path';
import type { LockedFunctions } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { lockCommand, lockPath, packageFolder, readLockFile } from './lock-file.js';
import { lockedFunctions } from './locked-functions.js';

export interface OpenLockOptions {
  /** The package: a folder, or a file in it. */
  folder: string;
  /** `--lock`: relative to the current folder. */
  lock?: string | undefined;
  frozen: boolean;
}

/**
 * Opens the lock file of a package: `--lock`, else krmhub.lock in its folder. Undefined if that does not exist; a file
 * that is named, or needed for `--frozen`, has to. Throws `not-found` or `invalid-document`.
 */
export async function openLock(io: Io, options: OpenLockOptions): Promise<LockedFunctions | undefined> {
  const { lock, frozen } = options;
  const file = lockPath(io, await packageFolder(io, options.folder), lock);
  const command = lockCommand(io, options);
  const stored = await readLockFile(io, file, command);
  if (stored !== undefined) {
    return lockedFunctions(io, stored.lock, { folder: path.dirname(file), frozen, command });
  }
  if (lock === undefined && !frozen) return undefined;
  const name = path.relative(io.cwd, file);
  const why = frozen ? ', but --frozen requires it' : '';
  throw new KrmhubError('not-found', `the lock file ${name} does not exist${why}`, {
    hint: `Create it: ${command}`,
  });
}
