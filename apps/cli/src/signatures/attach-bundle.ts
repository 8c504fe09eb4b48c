import {
  bundleManifest,
  computeDigest,
  type Descriptor,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  type OciClient,
  type OciDigest,
  type Reference,
  toContent,
} from '@krmhub/oci';

/** Pushes a bundle as a referrer of an artifact, as cosign does. Returns the digest of its manifest. */
export async function attachBundle(
  client: OciClient,
  target: Pick<Reference, 'registry' | 'repository'>,
  options: {
    subject: Pick<Descriptor, 'mediaType' | 'digest' | 'size'>;
    bundle: Uint8Array;
    predicateType: string;
    created: Date;
  },
): Promise<OciDigest> {
  const { subject, bundle, predicateType, created } = options;
  const layer = { digest: computeDigest(bundle), size: bundle.byteLength };
  const { mediaType, digest, size } = subject;
  const { bytes, ...descriptor } = bundleManifest({
    subject: { mediaType, digest, size },
    bundle: layer,
    predicateType,
    created: created.toISOString().replace(/\.\d+Z$/, 'Z'),
  });
  await client.pushBlob(target, EMPTY_DIGEST, toContent(EMPTY_CONFIG));
  await client.pushBlob(target, layer.digest, toContent(bundle));
  const { registry, repository } = target;
  const reference = { registry, repository, digest: descriptor.digest };
  const { indexed } = await client.putManifest(reference, bytes, descriptor.mediaType);
  if (!indexed) {
    const { artifactType, annotations } = descriptor;
    await client.addToReferrersTag(target, digest, {
      mediaType: descriptor.mediaType,
      digest: descriptor.digest,
      size: descriptor.size,
      ...(artifactType === undefined ? {} : { artifactType }),
      ...(annotations === undefined ? {} : { annotations }),
    });
  }
  return descriptor.digest;
}
