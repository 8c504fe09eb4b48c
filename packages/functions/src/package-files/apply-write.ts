import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { changedMeanwhile, checkUnchanged } from './check-unchanged.js';
import { applyJournal, hasNoLinks, undoJournal, versionText } from './complete-write.js';
import { errorCode, fileError } from './file-error.js';
import { decideUndo, JOURNAL, type Journal, type JournalEntry, PENDING_JOURNAL } from './journal.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import { type PackageFile, type PackageFiles, writtenPath } from './package-file.js';
import { recoverPackage } from './recover-package.js';
import { syncFiles, syncPath } from './sync-files.js';
import { guardWrite } from './write-guard.js';
import {
  finishWrite,
  giveUp,
  makePrivateFolder,
  privateWriteFolder,
  removeFolder,
  writeFolderPath,
} from './write-owner.js';
import type { FileChange, WritePlan } from './write-plan.js';

export interface WriteOptions {
  signal?: AbortSignal | undefined;
  limits?: PackageLimits;
}

const NEW_FILE_MODE = 0o666;

/**
 * Writes all changes of a package or none of them: whenever krmhub is killed, what another process completes is the
 * whole write, or its removal. Files that stay the same are not touched, and changed files keep their permissions.
 *
 * Throws `conflict` if the package was changed since it was read, `unavailable` for files or folders that cannot be
 * written, `storage-full`, and the reason of the signal; then all files are as they were, or, if that fails too, the
 * next command for the package puts them back. If the disk also refuses to record this, that command completes the
 * write.
 */
export async function applyWrite(
  files: PackageFiles,
  plan: WritePlan,
  { signal, limits = PACKAGE_LIMITS }: WriteOptions = {},
): Promise<void> {
  if (plan.changes.length === 0) return;
  signal?.throwIfAborted();
  checkWritable(files, plan);
  const { folder } = files;
  const endGuard = guardWrite(folder);
  const prepared = privateWriteFolder(folder);
  let isSettled = true;
  try {
    const journal = await stage(files, plan, prepared);
    signal?.throwIfAborted();
    await lock(folder, prepared);
    const outcome = settle(files, plan, journal, limits);
    isSettled = outcome.isSettled;
    if ('error' in outcome) throw outcome.error;
  } catch (error) {
    throw fileError(`cannot write the package ${folder}`, error);
  } finally {
    removeFolder(prepared);
    // Otherwise the guard does what is left when this process ends.
    if (isSettled) endGuard();
  }
}

/** A rename does not ask whether a file may be written. */
function checkWritable({ folder }: PackageFiles, plan: WritePlan): void {
  const folders = new Set<string>();
  for (const { type, path: at } of plan.changes) {
    const place = path.join(folder, at);
    const { existing } = findParent(folder, at);
    try {
      if (type !== 'create') accessSync(place, constants.W_OK);
      if (!folders.has(existing)) accessSync(existing, constants.W_OK | constants.X_OK);
      folders.add(existing);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') throw changedMeanwhile(at, 'was removed');
      throw fileError(`cannot write ${at}`, error);
    }
  }
}

/** Returns the innermost folder of a file that exists, and those that do not. A link is not a folder. */
function findParent(folder: string, at: string): { existing: string; missing: string[] } {
  const parts = at.split('/').slice(0, -1);
  for (let count = 1; count <= parts.length; count++) {
    const inner = parts.slice(0, count).join('/');
    const stat = lstatSync(path.join(folder, inner), { throwIfNoEntry: false });
    if (stat === undefined) {
      const missing = parts.slice(count - 1).map((_, more) => parts.slice(0, count + more).join('/'));
      return { existing: path.join(folder, ...parts.slice(0, count - 1)), missing };
    }
    if (!stat.isDirectory()) {
      const reason = stat.isSymbolicLink() ? 'a symbolic link' : 'not a folder';
      throw new KrmhubError('conflict', `cannot write ${at}: ${inner} is ${reason}`);
    }
  }
  return { existing: path.join(folder, ...parts), missing: [] };
}

/** Writes the new files, and syncs them. Nothing of the package changes. */
async function stage(files: PackageFiles, plan: WritePlan, prepared: string): Promise<Journal> {
  const { folder } = files;
  const staged = makePrivateFolder(prepared);
  const changes: JournalEntry[] = [];
  const folders = new Set<string>();
  const written = new Map([...files.files.values()].map((file) => [writtenPath(file), file]));
  for (const [index, change] of plan.changes.entries()) {
    const { path: at } = change;
    const { existing, missing } = findParent(folder, at);
    checkDevice(folder, existing, at);
    for (const one of missing) folders.add(one);
    const entry: JournalEntry = { path: at, isCreated: change.type === 'create' };
    if (change.type !== 'delete') {
      entry.new = `new.${index}`;
      const file = path.join(prepared, entry.new);
      entry.inode = stageFile(written.get(at), change, file);
      staged.push(file);
    }
    if (change.type !== 'create') entry.old = `old.${index}`;
    changes.push(entry);
  }
  await syncFiles(staged);
  return { folders: [...folders], changes };
}

/** Returns the inode. */
function stageFile(
  old: PackageFile | undefined,
  change: FileChange & { after: string },
  file: string,
): string {
  writeFileSync(file, change.after, { flag: 'wx', mode: NEW_FILE_MODE });
  const { uid, gid, ino } = lstatSync(file, { bigint: true });
  if (old === undefined) return String(ino);
  if (Number(uid) !== old.owner || Number(gid) !== old.group) {
    try {
      chownSync(file, old.owner, old.group);
    } catch (error) {
      // Only root can give files away.
      if (errorCode(error) !== 'EPERM') throw error;
    }
  }
  chmodSync(file, old.mode);
  return String(ino);
}

function checkDevice(folder: string, existing: string, at: string): void {
  if (lstatSync(folder).dev === lstatSync(existing).dev) return;
  throw new KrmhubError('unsupported', `cannot write ${at}: it is on another disk than its package`);
}

/** Only one write of a package is between here and its end. */
async function lock(folder: string, prepared: string): Promise<void> {
  const writeFolder = writeFolderPath(folder);
  for (;;) {
    try {
      renameSync(prepared, writeFolder);
      return;
    } catch (error) {
      const isLocked =
        ['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '') ||
        // Windows says so.
        (errorCode(error) === 'EPERM' && lstatSync(writeFolder, { throwIfNoEntry: false }) !== undefined);
      if (!isLocked) throw error;
      await recoverPackage(folder);
    }
  }
}

interface Outcome {
  /** Why nothing was written. */
  error?: unknown;
  /** Whether nothing is left to do. */
  isSettled: boolean;
}

/** Changes all files, or none. */
function settle(files: PackageFiles, plan: WritePlan, journal: Journal, limits: PackageLimits): Outcome {
  const { folder } = files;
  const writeFolder = writeFolderPath(folder);
  const outcome: Outcome = { isSettled: false };
  let isDecided = false;
  try {
    linkOld(folder, writeFolder, journal);
    checkUnchanged(files, plan, limits);
    decide(folder, writeFolder, journal);
    isDecided = true;
    applyJournal(folder, writeFolder, journal);
  } catch (error) {
    outcome.error = error;
  }
  try {
    if (isDecided && 'error' in outcome) {
      decideUndo(writeFolder);
      undoJournal(folder, writeFolder, journal);
    }
    finishWrite(folder);
    outcome.isSettled = true;
  } catch {
    giveUp(writeFolder);
  }
  return outcome;
}

/** Before the files are checked, so that an edit after the check is seen. */
function linkOld(folder: string, writeFolder: string, { changes }: Journal): void {
  for (const change of changes) {
    if (change.old === undefined) continue;
    const file = path.join(folder, change.path);
    const link = path.join(writeFolder, change.old);
    try {
      linkSync(file, link);
      change.version = versionText(link);
    } catch (error) {
      // The check says so.
      if (errorCode(error) === 'ENOENT') continue;
      if (!hasNoLinks(error)) throw error;
      copyFileSync(file, link, constants.COPYFILE_EXCL);
    }
  }
}

/** From the rename on, the write happens. */
function decide(folder: string, writeFolder: string, journal: Journal): void {
  const pending = path.join(writeFolder, PENDING_JOURNAL);
  writeFileSync(pending, JSON.stringify(journal), { flag: 'wx' });
  for (const place of [pending, writeFolder, folder]) syncPath(place);
  renameSync(pending, path.join(writeFolder, JOURNAL));
  syncPath(writeFolder);
}
