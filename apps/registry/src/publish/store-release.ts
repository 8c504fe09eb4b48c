/** The third step of a publish: store its bytes, then commit its change. */

import type { BlobStore, FunctionChange } from '@krmhub/catalog';
import type { RecheckToken } from '../http/auth/authorize.js';
import { SERVER_LIMITS } from '../limits.js';
import type { Artifact, ArtifactStore } from '../store/artifacts/artifact-store.js';
import type { BytesLock } from '../workers/processes/processes.js';

export interface StoreDeps {
  store: ArtifactStore;
  /** Definitions and READMEs that are no rows. */
  blobs: BlobStore;
  /** Blobs of repositories, large bundles among them. */
  artifacts: BlobStore;
  /** Locked for reading while bytes are stored and their rows are not. */
  bytesLock: BytesLock;
}

export interface StoredRelease {
  change: FunctionChange;
  artifacts: readonly Artifact[];
  /** Those that are no rows. */
  bundles: readonly Uint8Array[];
  /** The definition and the README. */
  files: readonly Uint8Array[];
}

/**
 * Stores a release whole. Rejects with RevisionConflict if the function or the policies have changed meanwhile, and if its
 * token may not publish it any more.
 */
export async function storeRelease(
  { store, blobs, artifacts: artifactBlobs, bytesLock }: StoreDeps,
  { change, artifacts, bundles, files }: StoredRelease,
  recheck: RecheckToken,
): Promise<void> {
  const isRow = ({ byteLength }: Uint8Array) => byteLength <= SERVER_LIMITS.maxFileRowBytes;
  await bytesLock.read(async () => {
    // Durable before the transaction that names them.
    await allDone([
      ...files.filter((file) => !isRow(file)).map((file) => blobs.put(file)),
      ...bundles.map((bundle) => artifactBlobs.put(bundle)),
    ]);
    await recheck('if-old');
    await store.commitFunction(change, artifacts, files.filter(isRow));
  });
}

/** Waits for all, also if one fails: the caller holds a lock while they run. Rejects with the first error. */
async function allDone(running: readonly Promise<unknown>[]): Promise<void> {
  await Promise.allSettled(running);
  await Promise.all(running);
}
