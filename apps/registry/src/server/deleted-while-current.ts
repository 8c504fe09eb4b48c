import type { BlobStore } from '@krmhub/catalog';
import type { Processes } from '../workers/processes/processes.js';

/** Returns the blobs with deletes that check first whether the other processes count on this one. */
export function deletedWhileCurrent(blobs: BlobStore, processes: Processes): BlobStore {
  return {
    ...blobs,
    async delete(digest) {
      processes.ensureCurrent();
      await blobs.delete(digest);
    },
  };
}
