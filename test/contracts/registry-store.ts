import type { SearchStore } from '@krmhub/catalog';
import { afterEach, beforeEach, describe } from 'vitest';
import type { RegistryStore } from '../../apps/registry/src/store/registry-store.js';
import { accessContract } from './access-store.js';
import { auditContract, auditedActsContract } from './audit-store.js';
import { consumerContract } from './consumer-store.js';
import { directoryContract } from './directory-store.js';
import { functionContract } from './function-store.js';
import { takedownContract } from './function-store-takedowns.js';
import { withdrawnContract } from './function-store-withdrawn.js';
import { replacementContract } from './hidden-replacements.js';
import { loginContract } from './login-store.js';
import { policyContract } from './policy-store.js';
import { profileContract } from './profile-store.js';
import { searchAlternativesContract } from './search-alternatives.js';
import { searchOwnersContract } from './search-owners.js';
import { searchQueriesContract } from './search-queries.js';
import { searchSeenContract } from './search-seen.js';
import { searchContract } from './search-store.js';
import { searchPagesContract } from './search-store-pages.js';
import { upstreamContract } from './search-store-upstream.js';
import { searchWalksContract } from './search-walks.js';
import { searchWordsContract } from './search-words.js';
import { sessionContract } from './session-store.js';
import { signInContract } from './sign-in-store.js';
import { catalogContract } from './snapshot-store.js';
import { catalogEntriesContract } from './snapshot-store-entries.js';
import { servedReleasesContract } from './snapshot-store-releases.js';
import { segmentContract } from './snapshot-store-segments.js';
import { signatureContract } from './snapshot-store-signatures.js';
import { sourceContract } from './source-store.js';
import { sourceChangesContract } from './source-store-changes.js';
import { sourceEntriesContract } from './source-store-entries.js';
import { lifecycleContract } from './store-lifecycle.js';
import { tokenContract } from './token-store.js';
import { trustedPublisherContract } from './trusted-publisher-store.js';
import { uploadContract } from './upload-store.js';

export interface RegistryStoreHarness {
  store: RegistryStore;
  /** Closes the store and opens it again; absent for a store in memory. */
  reopen?(): Promise<RegistryStore>;
  /** Searches the same registry as another process does; absent if only one process can have it. */
  join?(): Promise<SearchStore & { close(): Promise<void> }>;
  /** Runs a statement, as another version would; absent for a store in memory. */
  run?(sql: string): Promise<unknown>;
  dispose(): Promise<void>;
}

/** The contract of every RegistryStore, port by port. `open` returns an empty one. */
export function registryStoreContract(name: string, open: () => Promise<RegistryStoreHarness>): void {
  describe(`${name} is a registry store`, () => {
    let harness: RegistryStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.dispose());
    functionContract(() => harness.store);
    searchContract(() => harness.store);
    searchPagesContract(() => harness.store);
    searchQueriesContract(() => harness);
    catalogContract(() => harness.store);
    catalogEntriesContract(() => harness.store);
    servedReleasesContract(() => harness.store);
    segmentContract(() => harness.store);
    auditContract(() => harness.store);
    auditedActsContract(() => harness.store);
    tokenContract(() => harness.store);
    trustedPublisherContract(() => harness.store);
    sessionContract(() => harness.store);
    loginContract(() => harness.store);
    signInContract(() => harness.store);
    consumerContract(() => harness.store);
    directoryContract(() => harness);
    uploadContract(() => harness.store);
    profileContract(() => harness.store);
    lifecycleContract(() => harness);
    replacementContract(() => harness);
    takedownContract(() => harness);
    withdrawnContract(() => harness);
    signatureContract(() => harness);
    policyContract(() => harness);
    accessContract(() => harness.store);
    upstreamContract(() => harness);
    searchWalksContract(() => harness);
    searchWordsContract(() => harness);
    searchAlternativesContract(() => harness);
    searchSeenContract(() => harness);
    searchOwnersContract(() => harness);
    sourceContract(() => harness);
    sourceEntriesContract(() => harness);
    sourceChangesContract(() => harness);
  });
}
