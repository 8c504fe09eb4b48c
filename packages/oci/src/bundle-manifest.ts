import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema/media-types';
import { computeDigest, type OciDigest } from './digest.js';
import { EMPTY_CONFIG, EMPTY_DIGEST, type ImageManifest, MEDIA_TYPES } from './manifest.js';
import type { ManifestRecord } from './manifest-store.js';

const BUNDLE_LAYER = /^application\/vnd\.dev\.sigstore\.bundle\b/;

/** The manifest that a bundle refers to. */
export interface Subject {
  mediaType: string;
  digest: OciDigest;
  /** Bytes. */
  size: number;
}

/** Returns a manifest with a bundle (DSSE envelope), a referrer of the signed manifest. `created` is RFC 3339. */
export function bundleManifest(options: {
  subject: Subject;
  bundle: { digest: OciDigest; size: number };
  predicateType: string;
  created: string;
}): ManifestRecord & { subject: OciDigest } {
  const { subject, bundle, predicateType, created } = options;
  const annotations = {
    'dev.sigstore.bundle.content': 'dsse-envelope',
    'dev.sigstore.bundle.predicateType': predicateType,
    'org.opencontainers.image.created': created,
  };
  const bytes = new TextEncoder().encode(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.image,
      artifactType: BUNDLE_MEDIA_TYPE,
      config: { mediaType: MEDIA_TYPES.empty, digest: EMPTY_DIGEST, size: EMPTY_CONFIG.byteLength },
      layers: [{ mediaType: BUNDLE_MEDIA_TYPE, digest: bundle.digest, size: bundle.size }],
      subject: { mediaType: subject.mediaType, digest: subject.digest, size: subject.size },
      annotations,
    }),
  );
  return {
    digest: computeDigest(bytes),
    mediaType: MEDIA_TYPES.image,
    size: bytes.byteLength,
    bytes,
    artifactType: BUNDLE_MEDIA_TYPE,
    annotations,
    references: [bundle.digest],
    subject: subject.digest,
  };
}

/** Returns the layer with the bundle, undefined unless the manifest has exactly one layer. Clients differ in all else. */
export function bundleLayer({ layers }: ImageManifest): ImageManifest['layers'][number] | undefined {
  const [layer, ...more] = layers;
  return layer !== undefined && more.length === 0 && BUNDLE_LAYER.test(layer.mediaType) ? layer : undefined;
}
