import { readFileSync } from 'node:fs';
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

/** Returns the process that writes; undefined if there is no such folder. */
export function readOwner(writeFolder: string): ProcessIdentity | undefined {
  try {
    const { id, start } = JSON.parse(
      readFileSync(path.join(writeFolder, OWNER_FILE), 'utf8'),
    ) as ProcessIdentity;
    return { id: Number(id), start: Number(start) };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (error instanceof SyntaxError) return { id: 0, start: 0 };
    throw error;
  }
}

/** Returns the journal of a write that was decided; undefined before. */
export function readJournal(writeFolder: string): Journal | undefined {
  let text: string;
  try {
    text = readFileSync(path.join(writeFolder, JOURNAL), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const journal = parse(text);
  if (journal !== undefined) return journal;
  throw new KrmhubError('conflict', `cannot complete the interrupted write: ${JOURNAL} is damaged`, {
    hint: `Restore the package, and remove ${WRITE_FOLDER} from it.`,
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
