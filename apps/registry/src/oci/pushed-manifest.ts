import { type Manifest, type ManifestRecord, type OciDigest, OciError, UnknownReferences } from '@krmhub/oci';

export interface PushedManifest {
  record: ManifestRecord;
  manifest: Manifest;
  /** What the repository must have before. */
  needed: readonly OciDigest[];
}

/** Runs a change that stores a manifest; translates an error about missing blobs, with all their digests. */
export async function refuseUnknown<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnknownReferences)) throw error;
    const { digests } = error;
    const named = digests.slice(0, 3).join(', ') + (digests.length > 3 ? ' …' : '');
    throw new OciError(
      'MANIFEST_BLOB_UNKNOWN',
      `the manifest refers to content that is missing in this repository: ${named}`,
      {
        detail: digests.map((digest) => ({ digest })),
        hint: 'Push its blobs first, and for an index its manifests.',
      },
    );
  }
}
