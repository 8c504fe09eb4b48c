import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { platform } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { ownProcess } from '../process/process-identity.js';
import { changedMeanwhile, checkUnchanged } from './check-unchanged.js';
import { applyJournal, revertJournal } from './complete-write.js';
import { errorCode, fileError } from './file-error.js';
import {
  JOURNAL,
  type Journal,
  type JournalEntry,
  OWNER_FILE,
  PENDING_JOURNAL,
  privateFolderOf,
  type WriteOwner,
  writeFolderOf,
} from './journal.js';
import { PACKAGE_LIMITS, type PackageLimits } from './limits.js';
import type { PackageFiles } from './package-file.js';
import { finishWrite, recoverPackage } from './recover-package.js';
import { guardWrite } from './write-guard.js';
import type { FileChange, WritePlan } from './write-plan.js';

export interface WriteOptions {
  signal?: AbortSignal | undefined;
  limits?: PackageLimits;
}

/** Files that are synced at the same time. */
const SYNCS = 32;
const NEW_FILE_MODE = 0o666;

/**
 * Writes all changes of a package or none of them: whenever krmhub is killed, what another process completes is the whole
 * write, or its removal. Files that stay the same are not touched, and changed files keep their permissions.
 *
 * Throws `conflict` if the package was changed since it was read, `unavailable` for files or folders that cannot be
 * written, `storage-full`, and the reason of the signal; then all files are as they were.
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
  const own = ownProcess();
  const prepared = privateFolderOf(folder, own);
  const writeFolder = writeFolderOf(folder);
  let isLocked = false;
  try {
    const staged = await stage(files, plan, prepared);
    signal?.throwIfAborted();
    await lock(folder, prepared, writeFolder);
    isLocked = true;
    checkUnchanged(files, plan, limits);
    const journal = commit(folder, writeFolder, staged);
    complete(folder, writeFolder, journal);
  } catch (error) {
    throw fileError(`cannot write the package ${folder}`, error);
  } finally {
    if (isLocked) finishWrite(folder, own);
    else rmSync(prepared, { recursive: true, force: true });
    endGuard();
  }
}

/** A rename does not ask whether a file may be written. */
function checkWritable({ folder }: PackageFiles, plan: WritePlan): void {
  const folders = new Set<string>();
  for (const { type, path: at } of plan.changes) {
    const place = path.join(folder, at);
    const { existing } = parentOf(folder, at);
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
function parentOf(folder: string, at: string): { existing: string; missing: string[] } {
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
  // Of an earlier write of this process.
  rmSync(prepared, { recursive: true, force: true });
  mkdirSync(prepared, { mode: 0o700 });
  const owner: WriteOwner = { ...ownProcess(), inode: String(lstatSync(prepared, { bigint: true }).ino) };
  writeFileSync(path.join(prepared, OWNER_FILE), JSON.stringify(owner));
  const changes: JournalEntry[] = [];
  const folders = new Set<string>();
  const staged: string[] = [];
  for (const [index, change] of plan.changes.entries()) {
    const { path: at } = change;
    const { existing, missing } = parentOf(folder, at);
    checkDevice(folder, existing, at);
    for (const one of missing) folders.add(one);
    const entry: JournalEntry = { path: at, isCreated: change.type === 'create' };
    if (change.type !== 'delete') {
      entry.new = `new.${index}`;
      const file = path.join(prepared, entry.new);
      stageFile(files, change, file);
      staged.push(file);
    }
    if (change.type !== 'create') entry.old = `old.${index}`;
    changes.push(entry);
  }
  await syncFiles(staged);
  return { folders: [...folders], changes };
}

function stageFile({ files }: PackageFiles, change: FileChange & { after: string }, file: string): void {
  writeFileSync(file, change.after, { flag: 'wx', mode: NEW_FILE_MODE });
  const old = files.get(change.path);
  if (old === undefined) return;
  const { uid, gid } = lstatSync(file);
  if (uid !== old.owner || gid !== old.group) {
    try {
      chownSync(file, old.owner, old.group);
    } catch (error) {
      // Only root can give files away.
      if (errorCode(error) !== 'EPERM') throw error;
    }
  }
  chmodSync(file, old.mode);
}

function checkDevice(folder: string, existing: string, at: string): void {
  if (lstatSync(folder).dev === lstatSync(existing).dev) return;
  throw new KrmhubError('unsupported', `cannot write ${at}: it is on another disk than its package`);
}

async function syncFiles(paths: readonly string[]): Promise<void> {
  let next = 0;
  const work = async () => {
    for (let file = paths[next++]; file !== undefined; file = paths[next++]) {
      const handle = await open(file, 'r');
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(SYNCS, paths.length) }, work));
}

/** Only one write of a package is between here and its end. */
async function lock(folder: string, prepared: string, writeFolder: string): Promise<void> {
  for (;;) {
    try {
      renameSync(prepared, writeFolder);
      return;
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(errorCode(error) ?? '')) throw error;
      await recoverPackage(folder, { keeps: prepared });
      if (lstatSync(writeFolder, { throwIfNoEntry: false }) !== undefined) throw error;
    }
  }
}

/** From the rename on, the write happens. */
function commit(folder: string, writeFolder: string, journal: Journal): Journal {
  for (const change of journal.changes) {
    if (change.old === undefined) continue;
    try {
      linkSync(path.join(folder, change.path), path.join(writeFolder, change.old));
    } catch (error) {
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? ''))
        throw error;
      delete change.old;
    }
  }
  const pending = path.join(writeFolder, PENDING_JOURNAL);
  writeFileSync(pending, JSON.stringify(journal), { flag: 'wx' });
  syncPath(pending);
  syncPath(writeFolder);
  renameSync(pending, path.join(writeFolder, JOURNAL));
  syncPath(writeFolder);
  return journal;
}

function complete(folder: string, writeFolder: string, journal: Journal): void {
  try {
    applyJournal(folder, writeFolder, journal);
    const folders = new Set(journal.changes.map(({ path: at }) => path.dirname(path.join(folder, at))));
    for (const one of folders) syncPath(one);
  } catch (error) {
    revertJournal(folder, writeFolder, journal);
    throw error;
  }
}

function syncPath(file: string): void {
  // Windows cannot open folders.
  if (platform() === 'win32') return;
  const descriptor = openSync(file, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
