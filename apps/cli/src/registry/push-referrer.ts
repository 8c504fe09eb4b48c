import {
  computeDigest,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  type ManifestRecord,
  type OciClient,
  type OciDigest,
  type RepositoryReference,
  toContent,
} from '@krmhub/oci';

/**
 * Pushes a referrer of an artifact: its blobs, its manifest, and, where the registry does not list referrers, its entry
 * in their tag. Returns the digest of the manifest.
 */
export async function pushReferrer(
  client: OciClient,
  { registry, repository }: RepositoryReference,
  { bytes, subject, references: _, ...descriptor }: ManifestRecord & { subject: OciDigest },
  blobs: readonly Uint8Array[],
): Promise<OciDigest> {
  const target = { registry, repository };
  await client.pushBlob(target, EMPTY_DIGEST, toContent(EMPTY_CONFIG));
  for (const blob of blobs) await client.pushBlob(target, computeDigest(blob), toContent(blob));
  const { digest, mediaType } = descriptor;
  const { indexed } = await client.putManifest({ ...target, digest }, bytes, mediaType);
  if (!indexed) await client.addToReferrersTag(target, subject, descriptor);
  return digest;
}
