import { lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import type { ProcessIdentity } from '../process/process-identity.js';
import { errorCode } from './file-error.js';
import { WRITE_FOLDER } from './package-file.js';

/**
 * A write of many files that happens as one. All new files are written into a folder in the package, with links to the old
 * ones. The journal lists what has to be done: from the moment that it has its name, the write is completed, by whoever
 * finds it; before that moment it never happened.
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
  /** A link to the old file. Absent for a file that is created, and on disks without links. */
  old?: string;
  isCreated: boolean;
}

/** Of two hundred thousand files. */
const MAX_JOURNAL_BYTES = 268_435_456;
const READ_ATTEMPTS = 5;

/** In the folder of a write: the process that writes, the journal before and after the write is decided. */
export const OWNER_FILE = 'owner';
export const PENDING_JOURNAL = 'journal.pending';
export const JOURNAL = 'journal';

export function writeFolderOf(folder: string): string {
  return path.join(folder, WRITE_FOLDER);
}

/** The folder of a write that is prepared, or of which the files only have to be removed. */
export function privateFolderOf(folder: string, { id, start }: ProcessIdentity): string {
  return path.join(folder, `${WRITE_FOLDER}.${id}.${start}`);
}

/** The process in the name of such a folder. */
export function processOf(name: string): ProcessIdentity {
  const [id, start] = name.slice(WRITE_FOLDER.length + 1).split('.');
  return { id: Number(id), start: Number(start) };
}

/** The process that writes. */
export interface WriteOwner extends ProcessIdentity {
  /**
   * Of the folder of the write. A folder that came with a package, by git or in an archive, has another one: what it says must
   * not be done.
   */
  inode: string;
}

/** Returns the process that writes; undefined if there is no such folder. Throws `conflict` for one that was copied. */
export function readOwner(writeFolder: string): WriteOwner | undefined {
  for (let attempt = 1; ; attempt++) {
    const stat = lstatSync(writeFolder, { throwIfNoEntry: false, bigint: true });
    if (stat === undefined) return undefined;
    const text = stat.isDirectory() ? readSmallFile(path.join(writeFolder, OWNER_FILE)) : '';
    const owner = parseOwner(text ?? '');
    if (owner?.inode === String(stat.ino)) return owner;
    // Between the two calls, a write may have ended, and another one begun.
    if (attempt === READ_ATTEMPTS) throw damaged('no write of this package left it there');
  }
}

function parseOwner(text: string): WriteOwner | undefined {
  try {
    const { id, start, inode } = JSON.parse(text) as WriteOwner;
    return { id: Number(id), start: Number(start), inode };
  } catch {
    return undefined;
  }
}

/** Returns the journal of a write that was decided; undefined before. */
export function readJournal(writeFolder: string): Journal | undefined {
  const text = readSmallFile(path.join(writeFolder, JOURNAL));
  if (text === undefined) return undefined;
  const journal = parse(text);
  if (journal === undefined) throw damaged(`its ${JOURNAL} is damaged`);
  return journal;
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
    throw error;
  }
}

function damaged(reason: string): KrmhubError {
  return new KrmhubError('conflict', `cannot use the package: it contains ${WRITE_FOLDER}, and ${reason}`, {
    hint: `Check the files of the package, and remove ${WRITE_FOLDER} from it.`,
  });
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

/** Reports whether a path with slashes stays in its folder. */
export function isInside(text: unknown): text is string {
  if (typeof text !== 'string' || text === '' || text.startsWith('/') || text.includes('\0')) return false;
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function isName(text: unknown): boolean {
  return text === undefined || (typeof text === 'string' && /^(?:new|old)\.\d+$/.test(text));
}
