import {
  bundleManifest,
  contentOf,
  type Descriptor,
  digestOf,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  type OciClient,
  type OciDigest,
  type Reference,
} from '@krmhub/oci';

/** Puts a bundle beside an artifact, as a manifest that refers to it, where cosign and others look for it. */
export async function attachBundle(
  client: OciClient,
  place: Pick<Reference, 'registry' | 'repository'>,
  options: {
    subject: Pick<Descriptor, 'mediaType' | 'digest' | 'size'>;
    bundle: Uint8Array;
    predicateType: string;
    created: Date;
  },
): Promise<OciDigest> {
  const { subject, bundle, predicateType, created } = options;
  const blob = { digest: digestOf(bundle), size: bundle.byteLength };
  const manifest = bundleManifest({
    subject,
    bundle: blob,
    predicateType,
    created: created.toISOString().replace(/\.\d+Z$/, 'Z'),
  });
  await client.pushBlob(place, EMPTY_DIGEST, contentOf(EMPTY_CONFIG));
  await client.pushBlob(place, blob.digest, contentOf(bundle));
  const { registry, repository } = place;
  const { digest, bytes, mediaType, size, artifactType, annotations } = manifest;
  const { indexed } = await client.putManifest({ registry, repository, digest }, bytes, mediaType);
  if (!indexed) {
    const referrer = { mediaType, digest, size, artifactType, annotations };
    await client.addToFallback(place, subject.digest, referrer as Descriptor);
  }
  return digest;
}
