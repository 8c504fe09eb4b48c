import { lstat } from 'node:fs/promises';
import path from 'node:path';
import type { Lock, LockedFunctions } from '@krmhub/catalog';
import { SETTINGS_FILE, SETTINGS_KIND, SETTINGS_LIMITS } from '@krmhub/catalog/settings/settings';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import type { WorkingFolder } from '@krmhub/consume/ports';
import type { ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import {
  EMPTY_LOCK,
  type LockCommandOptions,
  lockCommand,
  lockPath,
  packageFolder,
  readLockFile,
} from './lock-file.js';
import { lockedFunctions } from './locked-functions.js';

/** `folder` is the package, or a file in it; `lock` is relative to the current folder. */
export interface OpenLockOptions extends LockCommandOptions {
  frozen: boolean;
  /** What counts in place of the content of the file, which is not read. */
  planned?: PlannedLock | undefined;
}

/** A lock that is not on disk; without one, nothing is locked. */
export interface PlannedLock {
  lock: Lock | undefined;
}

/**
 * Opens the lock file of a package: `--lock`, else krmhub.lock in its folder. Undefined if that does not exist; with
 * `--frozen`, nothing is locked then, so that only what a package pins itself can run. Throws `not-found` for a missing
 * file that is named, or `invalid-document`.
 */
export async function openLock(io: Io, options: OpenLockOptions): Promise<LockedFunctions | undefined> {
  const { lock, frozen, planned } = options;
  const file = lockPath(io, await packageFolder(io, options.folder), lock);
  const command = lockCommand(io, options);
  const stored = planned === undefined ? await readLockFile(io, file, command) : storedLock(planned);
  if (stored !== undefined || (lock === undefined && frozen)) {
    const folder = path.dirname(file);
    return lockedFunctions(io, stored?.lock ?? EMPTY_LOCK, {
      ...{ folder, frozen, command },
      ignoresRanges: planned !== undefined,
    });
  }
  if (lock === undefined || planned !== undefined) return undefined;
  const name = path.relative(io.cwd, file);
  throw new KrmhubError('not-found', `the lock file ${name} does not exist`, {
    hint: `Create it: ${command}`,
  });
}

function storedLock({ lock }: PlannedLock): { lock: Lock } | undefined {
  return lock === undefined ? undefined : { lock };
}

const MISNAMED_SETTINGS = SETTINGS_FILE.replace('.yaml', '.yml');
const IS_SETTINGS = new RegExp(`^kind: *["']?${SETTINGS_KIND}\\b`, 'm');

/**
 * Reads the settings of a package, for the options of a resolver: krmhub.yaml in its folder. Those of bases and
 * subpackages do not count. Throws `invalid-document` with every problem.
 */
export async function packageSettings(
  io: WorkingFolder,
  folder: string,
): Promise<Pick<ResolverOptions, 'settings'>> {
  const file = path.join(folder, SETTINGS_FILE);
  const name = path.relative(io.cwd, file);
  let bytes: Uint8Array;
  try {
    bytes = await readFileUpTo(io, file, SETTINGS_LIMITS.maxSettingsBytes);
  } catch (error) {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found' || (await isLink(file))) throw error;
    await rejectMisnamed(io, folder);
    return {};
  }
  // Loads the whole lint, and most packages have no settings.
  const { readSettings } = await import('@krmhub/catalog/settings/read-settings');
  const { settings, diagnostics } = readSettings(bytes, name);
  if (settings !== undefined) return { settings };
  throw new KrmhubError('invalid-document', `cannot read the settings ${name}`, {
    diagnostics,
    hint: 'Correct the file. It is described by: krmhub docs lock',
  });
}

/** Settings in a file that nothing reads are missing too: what they refuse must not run. */
async function rejectMisnamed(io: WorkingFolder, folder: string): Promise<void> {
  const file = path.join(folder, MISNAMED_SETTINGS);
  const bytes = await readFileUpTo(io, file, SETTINGS_LIMITS.maxSettingsBytes).catch(() => undefined);
  if (bytes === undefined || !IS_SETTINGS.test(Buffer.from(bytes).toString())) return;
  const name = path.relative(io.cwd, file);
  throw new KrmhubError('invalid-document', `cannot read the settings ${name}: their file has another name`, {
    hint: `Rename it to ${SETTINGS_FILE}.`,
  });
}

/** Settings behind a broken link are missing, and not left out: what they refuse must not run. */
async function isLink(file: string): Promise<boolean> {
  const stats = await lstat(file).catch(() => undefined);
  return stats?.isSymbolicLink() === true;
}
