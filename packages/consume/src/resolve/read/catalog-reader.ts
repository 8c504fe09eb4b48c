/**
 * Reads the entries of a trusted catalog, and parses only those that are needed.
 *
 * @module
 */

import type { NearFunction } from '@krmhub/catalog';
import type { FunctionDefinition, FunctionName } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import type { KrmhubError } from '@krmhub/schema/error';
import type { EntryStore } from '../../cache/cache-writer.js';
import type { CatalogState } from '../resolution.js';

/** Where one API version of an entry comes from. Only registries say it. */
export interface EntryOrigin {
  /** API version of the functionConfig. */
  name: string;
  release?: string;
  /** Digest of the exact bytes of the release's definition; without a release, of the entry in normal form. */
  definition: Digest;
  /** Reasons. */
  yanked?: string;
  deprecated?: string;
  /** What to use instead of a deprecated release, as `GROUP/KIND[@RANGE]`. */
  replacement?: string;
}

export interface FoundEntry {
  definition: FunctionDefinition;
  /** Absent where the catalog does not say. */
  origins?: readonly EntryOrigin[];
}

export type ReadState = Omit<CatalogState, 'reference'>;

export interface FoundFunction {
  /** Every entry of the function, in the order of the catalog. */
  entries: FoundEntry[];
  state: ReadState;
  /** Where it is cached, and what is known of it belongs. */
  store: EntryStore;
}

/** Called for each entry that cannot be used. */
export type OnInvalidEntry = (error: KrmhubError) => void;

/** A catalog that is trusted. Its methods reject with KrmhubErrors. */
export interface CatalogReader {
  /** Rejects with `invalid-document` for an entry of this function that cannot be used. */
  find(name: FunctionName): Promise<FoundFunction>;
  /** Returns functions with a similar name. */
  near(name: FunctionName): Promise<NearFunction[]>;
  /** Lists every entry that can be used, in the order of the catalog. `onInvalid` gets the errors of the others. */
  list(onInvalid: OnInvalidEntry): AsyncIterable<FunctionDefinition>;
  close(): Promise<void>;
}
