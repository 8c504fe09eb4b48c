import type { Work } from './statement.js';
import type { WriteOptions } from './write-queue.js';

/** A database that is read. */
export interface ReadSql {
  /** Runs work on one state of the database. */
  read<Result>(work: () => Work<Result>): Promise<Result>;
  /** Runs work of at most one statement: it needs no transaction to see one state. */
  readOne<Result>(work: () => Work<Result>): Promise<Result>;
}

/** A database that is written. */
export interface WriteSql {
  /**
   * Runs work in a transaction that sees the newest state, with no other writer beside it, or with `of` no other one of
   * that function; it is stored whole or not at all. Writes that arrive together share a transaction, except large ones.
   */
  write<Result>(work: () => Work<Result>, options?: WriteOptions): Promise<Result>;
}

/** A database in which work runs. */
export interface Sql extends ReadSql, WriteSql {
  /** Resolves when everything that an earlier read could see is durable. */
  durable(): Promise<void>;
  /** Returns a value that differs when another connection has changed the database, in less time than a read takes. */
  versionOfOthers?(): Promise<unknown>;
}
