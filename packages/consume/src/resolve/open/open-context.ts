import type { Cache } from '../../cache/cache.js';
import type { CacheWriter } from '../../cache/cache-writer.js';
import type { DocumentFetcher } from '../../cache/fetch-document.js';
import type { Ports } from '../../ports.js';
import type { CatalogReader } from '../read/catalog-reader.js';

/** What opening a catalog needs. */
export interface OpenContext {
  io: Ports;
  cache: Cache;
  writer: CacheWriter;
  fetcher: DocumentFetcher;
}

/** A catalog that may be used, and why. */
export interface OpenedCatalog {
  reader: CatalogReader;
  /** The option or the pinned key, in words. */
  trustedBy: string;
  /** One sentence each. */
  warnings: string[];
}
