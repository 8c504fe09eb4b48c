import { defined } from '@krmhub/schema/defined';
import type { BlobReader } from '../../store/blobs/reader.js';
import type { Sql } from '../../store/sql/sql.js';
import type { DatabaseReads } from '../../store/sqlite/state.js';

/** A problem or note about a data folder. */
export interface Finding {
  /** Name of the check. */
  check: string;
  /** `damage` if data is missing or wrong; `information` if it only uses space. */
  severity: 'damage' | 'information';
  /** A release, a snapshot, a file. */
  subject: string;
  message: string;
  /** What to do, in one sentence. */
  hint?: string;
}

/** One state of the database, and the current one. */
export interface CheckedDatabase extends DatabaseReads {
  /** Reads the current database: work that was in flight when `client` was opened may be done. */
  now: Sql['read'];
}

/** Input of checks: one state of the database, and the current folders. */
export interface CheckInput extends CheckedDatabase {
  /** Definitions and READMEs. */
  blobs: BlobReader;
  /** Profiles of snapshots. */
  profiles: BlobReader;
  /** Blobs that were pushed to repositories. */
  artifacts: BlobReader;
  /** Copies of upstream catalogs. */
  copies: BlobReader;
  /** Folder of the keys that sign snapshots. */
  keyFolder: string;
  /** Path of takedowns.jsonl. */
  takedownRecord: string;
  /** When the check started. */
  startedAt: Date;
  /** Reports progress. */
  progress(line: string): Promise<void>;
}

/** Yields findings without the name of the check, which the caller adds. */
export type Check = (input: CheckInput) => AsyncIterable<Omit<Finding, 'check'>>;

export function damage(subject: string, message: string, hint?: string): Omit<Finding, 'check'> {
  return { severity: 'damage', subject, message, ...defined({ hint }) };
}

export function information(subject: string, message: string): Omit<Finding, 'check'> {
  return { severity: 'information', subject, message };
}

export const FROM_BACKUP = 'Restore the registry from a backup that passes `krmhub fsck`.';
