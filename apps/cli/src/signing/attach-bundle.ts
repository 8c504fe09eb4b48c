import {
  CREATED,
  contentOf,
  type Descriptor,
  digestOf,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  MEDIA_TYPES,
  type OciClient,
  type OciDigest,
  type Reference,
} from '@krmhub/oci';
import { BUNDLE_MEDIA_TYPE } from '@krmhub/signing';

/** As cosign annotates bundles (cosign, "bundle specification for OCI"). */
const CONTENT = 'dev.sigstore.bundle.content';
const PREDICATE_TYPE = 'dev.sigstore.bundle.predicateType';

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
  const layer = { mediaType: BUNDLE_MEDIA_TYPE, digest: digestOf(bundle), size: bundle.byteLength };
  const annotations = {
    [CONTENT]: 'dsse-envelope',
    [PREDICATE_TYPE]: predicateType,
    [CREATED]: created.toISOString().replace(/\.\d+Z$/, 'Z'),
  };
  const bytes = new TextEncoder().encode(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.image,
      artifactType: BUNDLE_MEDIA_TYPE,
      config: {
        mediaType: MEDIA_TYPES.empty,
        digest: EMPTY_DIGEST,
        size: EMPTY_CONFIG.byteLength,
        artifactType: BUNDLE_MEDIA_TYPE,
      },
      layers: [layer],
      subject,
      annotations,
    }),
  );
  await client.pushBlob(place, EMPTY_DIGEST, contentOf(EMPTY_CONFIG));
  await client.pushBlob(place, layer.digest, contentOf(bundle));
  const digest = digestOf(bytes);
  const { registry, repository } = place;
  const { indexed } = await client.putManifest({ registry, repository, digest }, bytes, MEDIA_TYPES.image);
  if (!indexed) {
    const descriptor = {
      mediaType: MEDIA_TYPES.image,
      digest,
      size: bytes.byteLength,
      artifactType: BUNDLE_MEDIA_TYPE,
      annotations,
    };
    await client.addToFallback(place, subject.digest, descriptor);
  }
  return digest;
}
