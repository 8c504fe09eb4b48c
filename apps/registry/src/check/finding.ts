import type { BlobReader } from '../store/blobs/reader.js';
import type { DatabaseState } from '../store/sqlite/state.js';

/** Something that a check found in a data folder. */
export interface Finding {
  /** Name of the check. */
  check: string;
  /** `damage` is what a registry promises and does not hold; `information` what only takes room. */
  severity: 'damage' | 'information';
  /** What it is about: a release, a snapshot, a file. */
  subject: string;
  message: string;
  /** What to do about it, in one sentence. */
  hint?: string;
}

/** What a check reads: one state of the database, and the folders as they are now. */
export interface CheckInput extends Pick<DatabaseState, 'store' | 'client'> {
  /** Definitions and READMEs. */
  blobs: BlobReader;
  /** Forms of snapshots. */
  renditions: BlobReader;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobReader;
  /** Copies of catalogs elsewhere. */
  copies: BlobReader;
  /** Of the keys by which snapshots are signed. */
  keyFolder: string;
  /** When the check of the data folder began. */
  began: Date;
  /** Reads the database as it is by now: what was in flight when it was opened may be done. */
  now<Result>(read: (client: DatabaseState['client']) => Result): Result;
  /** Tells how far a check is. */
  progress(line: string): Promise<void>;
}

/** Gives findings without the name of the check, which its place in the list says. */
export type Check = (input: CheckInput) => AsyncIterable<Omit<Finding, 'check'>>;

export function damage(subject: string, message: string, hint?: string): Omit<Finding, 'check'> {
  return { severity: 'damage', subject, message, ...(hint === undefined ? {} : { hint }) };
}

export function information(subject: string, message: string): Omit<Finding, 'check'> {
  return { severity: 'information', subject, message };
}

export const FROM_BACKUP = 'Restore the registry from a backup that passes `krmhub fsck`.';
