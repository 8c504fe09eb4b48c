import { lstatSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { WRITE_FOLDER } from '../resource-list/reserved-files.js';
import { errorCode, fileError } from './file-error.js';
import { isInside } from './package-file.js';
import { syncPath } from './sync-files.js';
import { damagedFolder } from './write-owner.js';

/**
 * A write of many files that happens as one. Each line of this table follows from the one before by one rename:
 *
 * | state | the folder of the write | the files of the package |
 * |---|---|---|
 * | prepared | `.krmhub-fn.PROCESS`: all new files, on the disk | old |
 * | locked | `.krmhub-fn`: also links to the old files | old |
 * | decided | `.krmhub-fn` with `journal` | each old or new, as far as the journal is done |
 * | undone | `.krmhub-fn` with `journal.undo`, if a change failed | each old or new, as far as they are put back |
 * | done | `.krmhub-fn.PROCESS`, which is being removed | all new, or all old again |
 *
 * It holds at every instant, also after SIGKILL and a loss of power:
 *
 * 1. Each file in a decided journal is old or new as a whole, and the folder of the write has what the next step needs.
 *    A change, or its opposite, is one system call, and is skipped if it happened already. So the journal can be
 *    completed, or undone, from wherever it stopped, again and again. A decision to undo is never taken back.
 * 2. Only one process acts on a write that has the lock: the one in the name of the file in `owner`. Another one takes
 *    its place by a rename of exactly this name, after the process has ended: it succeeds for one, and never for a
 *    later write. So no process acts on a write that another one completes, or on one that began since.
 * 3. A folder with a process in the name belongs to that process. When that has ended, any process may remove it.
 * 4. What a state rests on is on the disk before the rename that begins it.
 *
 * The next command for the package does what a killed process left undone. The guard of the write does it at once.
 *
 * Assumed: a rename is atomic, and processes that share the folder see each other, so not from other machines or
 * containers. A file that an editor writes in the instant between the last check and the rename is lost.
 */
export interface Journal {
  /** Folders that are created, outer ones first. */
  folders: string[];
  changes: JournalEntry[];
}

/** `new` and `old` are files in the folder of the write. */
export interface JournalEntry {
  path: string;
  /** Absent for a file that is deleted. */
  new?: string;
  /** Inode of `new`. */
  inode?: string;
  /** A link to the old file, or a copy on disks without links. Absent for a file that is created. */
  old?: string;
  /** What tells whether the old file was edited. Absent for a copy. */
  version?: string;
  isCreated: boolean;
}

/** A write that was decided, and whether it has to be undone. */
export interface Decision {
  journal: Journal;
  isUndone: boolean;
}

/** Of two hundred thousand files. */
const MAX_JOURNAL_BYTES = 268_435_456;

/** In the folder of a write: the journal before and after the write is decided, and after it has to be undone. */
export const PENDING_JOURNAL = 'journal.pending';
export const JOURNAL = 'journal';
export const UNDO_JOURNAL = 'journal.undo';

/** From now on, the write is undone and not completed. */
export function decideUndo(writeFolder: string): void {
  renameSync(path.join(writeFolder, JOURNAL), path.join(writeFolder, UNDO_JOURNAL));
  syncPath(writeFolder);
}

/** Returns the journal of a write that was decided; undefined before. Throws `conflict` for a damaged one. */
export function readDecision(writeFolder: string): Decision | undefined {
  for (const name of [UNDO_JOURNAL, JOURNAL]) {
    const text = readSmallFile(path.join(writeFolder, name));
    if (text === undefined) continue;
    const journal = parse(text);
    if (journal === undefined) throw damagedFolder(`its ${name} is damaged`);
    return { journal, isUndone: name === UNDO_JOURNAL };
  }
  return undefined;
}

/** Returns the text of a file; undefined for a missing one, and an empty text for what is not a file. */
function readSmallFile(file: string): string | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile() || stat.size > MAX_JOURNAL_BYTES) return '';
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw fileError(`cannot read ${WRITE_FOLDER}`, error);
  }
}

/** A journal of another user must not lead out of the package. */
function parse(text: string): Journal | undefined {
  try {
    const { changes, folders } = JSON.parse(text) as Journal;
    const isSafe =
      folders.every(isInside) &&
      changes.every((change) => isInside(change.path) && isName(change.new) && isName(change.old));
    return isSafe ? { changes, folders } : undefined;
  } catch {
    return undefined;
  }
}

function isName(text: unknown): boolean {
  return text === undefined || (typeof text === 'string' && /^(?:new|old)\.\d+$/.test(text));
}
