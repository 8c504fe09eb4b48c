/**
 * Contracts of the stores of a registry, and the records in them.
 *
 * A method that changes records is one atomic transaction, and durable when it resolves. Methods reject with a
 * KrmhubError: `unavailable` if the database is locked or gone, `storage-full` if the disk is full. Every
 * implementation of a port passes the suite of its name in test/contracts.
 *
 * @module
 */

import type { Digest, FunctionName, Takedown } from '@krmhub/schema';
import type { SearchAccess } from '../access/search-access.js';
import type { Act } from './audit-store.js';
import type {
  Event,
  FunctionChange,
  FunctionRecord,
  FunctionTakedown,
  ReleaseFiles,
  ReleaseRecord,
  TakedownResult,
} from './records.js';
import type { NotesAndRun } from './release-parts.js';

/** Reads what was taken down. */
export interface TakedownReader {
  /** Returns the takedowns of the function, ignoring the case of the kind, in order. */
  takedowns(group: string, kind: string): Promise<Takedown[]>;
  allTakedowns(): Promise<Takedown[]>;
  /** Returns the takedown that deleted the manifest or file of a script; undefined if none did. */
  takedownOfScript(digest: string): Promise<Takedown | undefined>;
}

/** Lists functions. */
export interface FunctionLister {
  /** Returns every function, by group and kind in code unit order. */
  allFunctions(): AsyncIterable<FunctionRecord>;
}

/** Reads functions, their releases, and what was taken down of them. */
export interface FunctionReader extends FunctionLister, TakedownReader {
  /** Returns the function, ignoring the case of the kind; undefined if it does not exist. */
  function(group: string, kind: string): Promise<FunctionRecord | undefined>;
  functions(names: readonly { group: string; kind: string }[]): Promise<FunctionRecord[]>;
  /** Returns the groups that have functions, in code unit order. Linear in the number of functions. */
  groups(): Promise<string[]>;
  /** Returns the kinds of a group, in code unit order; none for an unknown group. */
  kinds(group: string): Promise<string[]>;
  /** Returns the number of functions. */
  countFunctions(): Promise<number>;
  release(group: string, kind: string, release: string): Promise<ReleaseRecord | undefined>;
  /** Returns the definitions of releases, in their order, as unparsed JSON in normal form; undefined if it has none. */
  definitionsJson(
    releases: readonly (FunctionName & { release: string })[],
  ): Promise<(Uint8Array | undefined)[]>;
  /** Returns the notes of releases, and the runs that published them, in the order of the releases. */
  notesAndRuns(releases: readonly (FunctionName & { release: string })[]): Promise<NotesAndRun[]>;
  /** Returns at most 100 releases whose definition has a digest, or that run what has it; by name. */
  releasesWith(digest: string): Promise<(FunctionName & { release: string })[]>;
  /** Returns the blobs of a release, and reads nothing else. */
  releaseFiles(group: string, kind: string, release: string): Promise<ReleaseFiles | undefined>;
}

/** Finds functions with a similar name, for hints. */
export interface NameFinder {
  /**
   * Returns at most five functions with a similar name, of this registry or of upstream catalogs, the most similar
   * first. With `access`, only such that its actor may read. Linear in the number of functions.
   */
  nearFunctions(name: FunctionName & { access?: SearchAccess }): Promise<FunctionName[]>;
}

/** Stores takedowns. */
export interface TakedownStore extends TakedownReader {
  /**
   * Commits a planned takedown, whose `scripts` are the candidates: all responses exclude the releases and copies of
   * their content, and earlier build plans are rejected. `dryRun` returns the same result and changes nothing. Rejects with a RevisionConflict as
   * commitFunction does.
   */
  commitTakedown(takedown: FunctionTakedown, options?: { dryRun: boolean }): Promise<TakedownResult>;
  /**
   * Adds the signers of a takedown to its tombstone, for example those that a record knows and an older database does
   * not. Does nothing without that tombstone.
   */
  completeTakedown(takedown: Takedown): Promise<void>;
  /** Removes the refused digests from the tombstones of releases, all at once. */
  allowRuntimes(releases: readonly (FunctionName & { release: string })[], act: Act): Promise<void>;
  /** Returns what must still be deleted outside the store; undefined if every takedown is complete. */
  unfinishedTakedowns(): Promise<{ takedowns: Takedown[]; blobs: Digest[] } | undefined>;
  /** Erases the data of takedowns from the files of the store, and marks the takedowns as complete. */
  finishTakedowns(): Promise<void>;
}

/** Commits changes of functions. */
export interface FunctionCommitter {
  /**
   * Commits a planned change and returns its event. Rejects with a RevisionConflict if the function or the policies
   * changed since the plan, and with `conflict` if the name or the bytes of a new release were taken down.
   */
  commitFunction(change: FunctionChange): Promise<Event>;
}

/** Stores functions, releases, and takedowns. */
export interface FunctionStore extends FunctionReader, NameFinder, TakedownStore, FunctionCommitter {}
