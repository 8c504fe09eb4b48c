import type { Digest, Takedown } from '@krmhub/schema';
import type {
  Event,
  FunctionChange,
  FunctionRecord,
  FunctionTakedown,
  ReleaseFiles,
  ReleaseRecord,
  TakedownResult,
} from './records.js';

/**
 * Functions, their releases, and takedowns of them. As in every port, methods are transactions: all or nothing, and
 * durable when they resolve. They reject with a KrmhubError: `unavailable` if the database is locked or gone,
 * `storage-full` if the disk is full. Every implementation of a port passes the suite of its name in test/contracts.
 */
export interface FunctionStore {
  /** The function whose kind is equal but for case; undefined where there is none. */
  function(group: string, kind: string): Promise<FunctionRecord | undefined>;
  functions(names: readonly { group: string; kind: string }[]): Promise<FunctionRecord[]>;
  /** Every function, by group and kind in code unit order. */
  allFunctions(): AsyncIterable<FunctionRecord>;
  /** How many functions there are. */
  countFunctions(): Promise<number>;
  release(group: string, kind: string, release: string): Promise<ReleaseRecord | undefined>;
  /** The definition of a release as JSON, in normal form and not parsed. */
  definitionJson(group: string, kind: string, release: string): Promise<Uint8Array | undefined>;
  /** Which blobs a release has; reads nothing else. */
  releaseFiles(group: string, kind: string, release: string): Promise<ReleaseFiles | undefined>;
  /**
   * Applies a planned change and gives its event. Rejects with a RevisionConflict where the function is
   * no longer at the revision on which the change was planned or the policies are no longer those by which it was judged,
   * and with `conflict` where the name or the bytes of
   * a new release were taken down.
   */
  commitFunction(change: FunctionChange): Promise<Event>;
  /** Takedowns of the function whose kind is equal but for case, in the order in which they happened. */
  takedowns(group: string, kind: string): Promise<Takedown[]>;
  allTakedowns(): Promise<Takedown[]>;
  /**
   * Applies a planned takedown: the releases and everything that repeats their content are gone from every answer,
   * and builds that were planned before are refused. `dryRun` returns the same and changes nothing. Rejects with a
   * RevisionConflict as commitFunction does.
   */
  commitTakedown(takedown: FunctionTakedown, options?: { dryRun: boolean }): Promise<TakedownResult>;
  /**
   * Adds the signers of a takedown to its tombstone, for example those that a record knows and an older database does
   * not. Does nothing without that tombstone.
   */
  addTakedownSigners(takedown: Takedown): Promise<void>;
  /** What is left to be deleted outside of the store; undefined where every takedown is finished. */
  unfinishedTakedowns(): Promise<{ takedowns: Takedown[]; blobs: Digest[] } | undefined>;
  /** Erases from the store's own files what takedowns removed from it, and remembers that they are finished. */
  finishTakedowns(): Promise<void>;
}
