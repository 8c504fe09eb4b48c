import {
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { WRITE_FOLDER } from '../resource-list/reserved-files.js';
import { errorCode, fileError } from './file-error.js';
import type { Journal, JournalEntry } from './journal.js';
import { syncPath } from './sync-files.js';

/** What disks without links answer, and those on which a file has too many. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

export function hasNoLinks(error: unknown): boolean {
  return NO_LINKS.includes(errorCode(error) ?? '');
}

/**
 * Does what a journal says. What is done already is not done again, so that this can be interrupted and repeated.
 * Throws `conflict` for a file that was edited in between, and the errors of the file system.
 */
export function applyJournal(folder: string, writeFolder: string, journal: Journal): void {
  const { folders, changes } = journal;
  checkTargets(folder, writeFolder, journal);
  for (const one of folders) {
    try {
      mkdirSync(path.join(folder, one));
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw fileError(`cannot create the folder ${one}`, error);
    }
  }
  for (const change of changes) {
    try {
      applyEntry(folder, writeFolder, change);
    } catch (error) {
      throw fileError(`cannot write ${change.path}`, error);
    }
  }
  syncChanges(folder, journal);
}

/**
 * Gives every file its old content, except those that were edited since. For a write that failed after it was decided.
 * This can be interrupted and repeated too.
 */
export function undoJournal(folder: string, writeFolder: string, journal: Journal): void {
  const { folders, changes } = journal;
  checkTargets(folder, writeFolder, journal);
  for (const change of changes.toReversed()) undoEntry(folder, writeFolder, change);
  for (const one of folders.toReversed()) {
    try {
      rmdirSync(path.join(folder, one));
    } catch {
      // Absent, or others have put files there.
    }
  }
  syncChanges(folder, journal);
}

/** Throws `conflict` for a path through a link, which may lead out of the package, and for what is not a file. */
function checkTargets(folder: string, writeFolder: string, { folders, changes }: Journal): void {
  const checked = new Set<string>();
  for (const at of [...folders, ...changes.map((change) => change.path)]) {
    for (let end = at.indexOf('/'); end !== -1; end = at.indexOf('/', end + 1)) {
      const parent = at.slice(0, end);
      if (checked.has(parent)) continue;
      const stat = lstatSync(path.join(folder, parent), { throwIfNoEntry: false });
      if (stat === undefined) break;
      if (!stat.isDirectory()) throw unusable(at, `${parent} is not a folder`);
      checked.add(parent);
    }
  }
  for (const change of changes) {
    for (const name of [change.new, change.old]) {
      if (name === undefined) continue;
      const stat = lstatSync(path.join(writeFolder, name), { throwIfNoEntry: false });
      if (stat !== undefined && !stat.isFile()) throw unusable(change.path, `${name} is not a file`);
    }
  }
}

function unusable(at: string, reason: string): KrmhubError {
  return new KrmhubError('conflict', `cannot write ${at}: ${reason}`, {
    hint: `Check the files of the package, and remove ${WRITE_FOLDER} from it.`,
  });
}

function applyEntry(folder: string, writeFolder: string, change: JournalEntry): void {
  const target = path.join(folder, change.path);
  if (change.new === undefined) {
    if (!exists(target)) return;
    if (!isOld(writeFolder, change, target)) throw edited(change.path);
    unlinkSync(target);
    return;
  }
  const source = path.join(writeFolder, change.new);
  if (change.isCreated) {
    createFile(source, target, change.path);
  } else if (exists(source)) {
    if (!isOld(writeFolder, change, target)) throw edited(change.path);
    renameSync(source, target);
  }
}

/** Never replaces a file. */
function createFile(source: string, target: string, at: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') {
      if (!isSameFile(source, target) && exists(source)) throw edited(at);
    } else if (!hasNoLinks(error)) {
      throw error;
    } else if (exists(source)) {
      if (exists(target)) throw edited(at);
      renameSync(source, target);
    }
  }
}

function undoEntry(folder: string, writeFolder: string, change: JournalEntry): void {
  const target = path.join(folder, change.path);
  const source = change.new === undefined ? undefined : path.join(writeFolder, change.new);
  if (change.isCreated) {
    if (source !== undefined && (exists(source) ? isSameFile(source, target) : isNew(change, target))) {
      rmSync(target, { force: true });
    }
    return;
  }
  const old = path.join(writeFolder, change.old ?? '');
  // It is moved back, so an absent one is in its place.
  if (change.old === undefined || !exists(old)) return;
  const isDone = source === undefined ? !exists(target) : !exists(source) && isNew(change, target);
  if (isDone) renameSync(old, target);
}

/** Reports whether a file still is the one that is replaced. Editors replace files, too, or write into them. */
function isOld(writeFolder: string, { old, version }: JournalEntry, target: string): boolean {
  if (old === undefined) return true;
  const copy = path.join(writeFolder, old);
  if (version === undefined) return exists(target) && readFileSync(copy).equals(readFileSync(target));
  return isSameFile(copy, target) && versionText(target) === version;
}

/** Reports whether a file is the one that replaced another. */
function isNew({ inode }: JournalEntry, target: string): boolean {
  return String(lstatSync(target, { throwIfNoEntry: false, bigint: true })?.ino) === inode;
}

/** What an edit of a file changes. */
export function versionText(file: string): string {
  const { mtimeNs, size } = lstatSync(file, { bigint: true });
  return `${mtimeNs} ${size}`;
}

function isSameFile(a: string, b: string): boolean {
  const one = lstatSync(a, { throwIfNoEntry: false, bigint: true });
  const other = lstatSync(b, { throwIfNoEntry: false, bigint: true });
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}

function exists(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** Waits until all changes, done or undone, are on the disk. */
function syncChanges(folder: string, { folders, changes }: Journal): void {
  const names = [...folders, ...changes.map((change) => change.path)];
  for (const parent of new Set(names.map((at) => path.dirname(path.join(folder, at))))) {
    try {
      syncPath(parent);
    } catch (error) {
      // Created, and removed again.
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }
}

function edited(at: string): KrmhubError {
  return new KrmhubError('conflict', `cannot write ${at}: it was changed while the package was written`, {
    hint: `To keep the files as they are now, remove ${WRITE_FOLDER} from the package.`,
  });
}
