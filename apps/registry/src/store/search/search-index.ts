import type { SearchDocument, SnapshotRecord } from '@krmhub/catalog';
import type { Work } from '../sql/statement.js';

/** What the full-text index has of a function. */
export type TextDocument = Pick<SearchDocument, 'group' | 'kind' | 'tags' | 'description' | 'publisher'>;

/** What the full-text index has of a function, and its displayed release. */
export interface IndexedDocument extends TextDocument {
  release: string;
}

/** What search keeps of functions, changed in the transaction that changes them. */
export interface SearchIndex {
  /** Whether it follows the database outside of transactions: a catalog counts as searched with its commit. */
  readonly follows: boolean;
  /** Writes the document of a function of this registry, with the stored words of the displayed release. */
  put(id: number, document: IndexedDocument, isNew: boolean): Work<void>;
  remove(id: number): Work<void>;
  /** A release in this registry takes the name over from upstream catalogs. */
  takeOver(group: string, kind: string): Work<void>;
  /** An id that no function has. */
  newId(): Work<number>;
  /**
   * A release of a function was taken down: without any, upstream catalogs can provide the name again.
   * `synchronizeSearch` includes what this does not.
   */
  takenDown(group: string, kind: string): Work<void>;
  /** A catalog has a new snapshot, whose entry rows are stored. `synchronizeSearch` includes what this does not. */
  snapshotCommitted(snapshot: SnapshotRecord): Work<void>;
}
