import type { CatalogRecord } from '@krmhub/catalog';
import { LRUCache } from 'lru-cache';
import type { ComparedCatalog } from './entry-comparison.js';

/** Catalogs of which it is remembered: about 5 MB. */
const MAX_CATALOGS = 20_000;

/**
 * The access rules by which this process last compared catalogs: new ones that decide the same about a catalog change
 * nothing in it.
 */
export class ComparedRules {
  readonly #builds = new LRUCache<string, string>({ max: MAX_CATALOGS });

  /** Whether all entries of a catalog, as it is stored, were compared by the same rules. */
  areSame({ catalog, readerRules }: ComparedCatalog): boolean {
    return this.#builds.get(catalog.name) === buildText(catalog, readerRules);
  }

  /** Remembers a catalog as its build stored it. */
  built(catalog: CatalogRecord, readerRules: ComparedCatalog['readerRules']): void {
    this.#builds.set(catalog.name, buildText(catalog, readerRules));
  }
}

function buildText({ throughEvent, newest }: CatalogRecord, readerRules: string): string {
  return `${throughEvent} ${newest?.digests['catalog.yaml']} ${readerRules}`;
}
