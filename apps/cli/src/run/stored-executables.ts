import { copyFile, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { cacheFolder } from '@krmhub/consume/cache/cache-folder';
import { diskError } from '@krmhub/consume/files/read-file';
import type { Environment, WorkingFolder } from '@krmhub/consume/ports';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';

import type { InstalledExecutable } from './prepared-function.js';

/**
 * Unpacked executables in the cache, each in a private folder named by its digest, for plugins. `runExecutable`
 * verifies the digest of the copy that it runs, so a file that was changed here never runs.
 */
function executableFolder(io: Environment & WorkingFolder, digest: Digest): string {
  return path.join(cacheFolder(io), 'executables', digest.slice('sha256:'.length));
}

/** Returns a stored executable; undefined if it is not in the cache. */
export async function storedExecutable(
  io: Environment & WorkingFolder,
  { digest, bin }: InstalledExecutable,
): Promise<{ file: string; sha256: Digest } | undefined> {
  const file = path.join(executableFolder(io, digest), path.basename(bin));
  const status = await stat(file).catch(() => undefined);
  return status?.isFile() === true ? { file, sha256: digest } : undefined;
}

/** Stores an installed executable. Safe for parallel processes: the first one wins. */
export async function storeExecutable(
  io: Environment & WorkingFolder,
  file: string,
  { digest, bin }: InstalledExecutable,
): Promise<void> {
  const folder = executableFolder(io, digest);
  try {
    await mkdir(path.dirname(folder), { recursive: true, mode: 0o700 });
    const temporary = await mkdtemp(path.join(path.dirname(folder), '.store-'));
    try {
      await copyFile(file, path.join(temporary, bin));
      await rm(path.join(folder, bin), { force: true });
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await rename(path.join(temporary, bin), path.join(folder, bin));
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  } catch (error) {
    throw error instanceof KrmhubError ? error : diskError(error, `cannot store ${bin} in the cache`);
  }
}

/** Removes a stored executable. It may be gone already. */
export async function removeExecutable(
  io: Environment & WorkingFolder,
  { digest }: InstalledExecutable,
): Promise<void> {
  await rm(executableFolder(io, digest), { recursive: true, force: true }).catch(() => undefined);
}
