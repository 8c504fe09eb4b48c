import { linkSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { errorCode, fileError } from './file-error.js';
import type { Journal, JournalEntry } from './journal.js';
import { WRITE_FOLDER } from './package-file.js';

/**
 * Does what a journal says. What is done already is not done again, so that this can be interrupted and repeated.
 * Throws `conflict` for a file that was edited in between, and the errors of the file system.
 */
export function applyJournal(folder: string, writeFolder: string, { folders, changes }: Journal): void {
  checkTargets(folder, writeFolder, { folders, changes });
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
}

/** Gives every file its old content. For a write that failed after it was decided. */
export function revertJournal(folder: string, writeFolder: string, { folders, changes }: Journal): void {
  checkTargets(folder, writeFolder, { folders, changes });
  for (const change of changes.toReversed()) {
    const target = path.join(folder, change.path);
    if (change.old !== undefined) {
      const old = path.join(writeFolder, change.old);
      if (isSameFile(old, target)) continue;
      // Through another name, since a rename onto a link of the same file does nothing.
      const again = `${old}.again`;
      rmSync(again, { force: true });
      linkSync(old, again);
      renameSync(again, target);
    } else if (change.isCreated && change.new !== undefined && !exists(path.join(writeFolder, change.new))) {
      rmSync(target, { force: true });
    }
  }
  for (const one of folders.toReversed()) {
    try {
      rmdirSync(path.join(folder, one));
    } catch {
      // Absent, or others have put files there.
    }
  }
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
  const old = change.old === undefined ? undefined : path.join(writeFolder, change.old);
  if (change.new === undefined) {
    if (!exists(target)) return;
    if (old !== undefined && !isSameFile(old, target)) throw edited(change.path);
    unlinkSync(target);
    return;
  }
  const source = path.join(writeFolder, change.new);
  if (!exists(source)) return;
  const isAsPlanned = change.isCreated ? !exists(target) : old === undefined || isSameFile(old, target);
  if (!isAsPlanned) throw edited(change.path);
  renameSync(source, target);
}

/** Editors replace a file, or write into the old one, which cannot be told from here. */
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

function edited(at: string): KrmhubError {
  return new KrmhubError('conflict', `cannot write ${at}: it was changed while the package was written`, {
    hint: `To keep the files as they are now, remove ${WRITE_FOLDER} from the package.`,
  });
}
