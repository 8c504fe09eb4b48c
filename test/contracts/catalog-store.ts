import type { CatalogStore } from '@krmhub/catalog';
import { afterEach, beforeEach, describe } from 'vitest';
import { catalogContract } from './catalog-store-catalogs.js';
import { functionContract } from './catalog-store-functions.js';
import { keepingContract } from './catalog-store-keeping.js';
import { policyContract } from './catalog-store-policies.js';
import { searchContract } from './catalog-store-search.js';
import { signatureContract } from './catalog-store-signatures.js';
import { sourceContract } from './catalog-store-sources.js';
import { takedownContract } from './catalog-store-takedowns.js';
import { upstreamContract } from './catalog-store-upstream.js';

export interface CatalogStoreHarness {
  store: CatalogStore;
  /** Closes the store and opens it again; absent where it keeps nothing. */
  reopen?(): Promise<CatalogStore>;
  dispose(): Promise<void>;
}

/** What every CatalogStore keeps. `open` gives an empty one. */
export function catalogStoreContract(name: string, open: () => Promise<CatalogStoreHarness>): void {
  describe(`${name} is a catalog store`, () => {
    let harness: CatalogStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.dispose());
    functionContract(() => harness.store);
    searchContract(() => harness.store);
    catalogContract(() => harness.store);
    keepingContract(() => harness);
    takedownContract(() => harness);
    signatureContract(() => harness);
    policyContract(() => harness);
    upstreamContract(() => harness);
    sourceContract(() => harness);
  });
}
