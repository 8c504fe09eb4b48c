import type { Change, ManifestRecord, ManifestStore, NewBlob, OciDigest } from '@krmhub/oci';
import { computeDigest, MEDIA_TYPES } from '@krmhub/oci';
import { type Digest, sha256 } from '@krmhub/schema';
import { afterEach, beforeEach, describe } from 'vitest';
import { blobContract } from './manifest-store-blobs.js';
import { collectingContract } from './manifest-store-collecting.js';
import { manifestContract } from './manifest-store-manifests.js';
import { quotaContract } from './manifest-store-quota.js';

export interface ManifestStoreHarness {
  store: ManifestStore;
  /** Closes the store and opens it again; absent for a store in memory. */
  reopen?(): Promise<ManifestStore>;
  /** Takes down a release with these bytes. */
  takeDown(file: Digest): Promise<void>;
  /** Publishes a release with this script. */
  publish(kind: string, script: string): Promise<void>;
  dispose(): Promise<void>;
}

/** The contract of every ManifestStore. `open` returns an empty one. */
export function manifestStoreContract(name: string, open: () => Promise<ManifestStoreHarness>): void {
  describe(`${name} is a manifest store`, () => {
    let harness: ManifestStoreHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.dispose());
    manifestContract(() => harness);
    blobContract(() => harness);
    quotaContract(() => harness);
    collectingContract(() => harness);
  });
}

export const REPOSITORY = 'team/tools';
export const EARLY = '2030-01-01T00:00:00.000Z';
export const NOON = '2030-01-01T12:00:00.000Z';
export const LATE = '2030-01-02T00:00:00.000Z';

export function change(at = NOON, quota?: number): Change {
  return { at, by: 'pusher', ...(quota === undefined ? {} : { quota }) };
}

export function sampleBlob(text: string, size = 10): Exclude<NewBlob, { place: 'rows' }> {
  return { digest: sha256(text), file: sha256(text), place: 'artifacts', size };
}

/** A manifest whose bytes are the text; a store does not parse it. */
export function sampleManifest(
  text: string,
  more: Partial<Omit<ManifestRecord, 'bytes' | 'size'>> = {},
): ManifestRecord {
  const bytes = new TextEncoder().encode(text);
  return {
    digest: computeDigest(bytes),
    mediaType: MEDIA_TYPES.image,
    size: bytes.byteLength,
    bytes,
    references: [],
    ...more,
  };
}

export interface Put {
  repository?: string;
  tag?: string;
  at?: string;
  quota?: number;
  needed?: readonly OciDigest[];
}

/** Stores a manifest that needs everything it names; returns its digest. */
export async function put(
  store: ManifestStore,
  manifest: ManifestRecord,
  { repository = REPOSITORY, tag, at, quota, needed = manifest.references }: Put = {},
): Promise<OciDigest> {
  const options = { ...change(at, quota), needed, ...(tag === undefined ? {} : { tag }) };
  await store.putManifest(repository, manifest, options);
  return manifest.digest;
}
