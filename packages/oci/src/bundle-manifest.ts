import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema/media-types';
import type { OciDigest } from './digest.js';
import type { ImageManifest } from './manifest.js';
import { type Referrer, referrerManifest, type Subject } from './referrer-manifest.js';

/** Reports whether a layer or an artifact of this type is a bundle, of any version. */
export function isBundleType(mediaType: string): boolean {
  return /^application\/vnd\.dev\.sigstore\.bundle\b/.test(mediaType);
}

/** Returns a manifest with a bundle (DSSE envelope), a referrer of the signed manifest. `created` is RFC 3339. */
export function bundleManifest(options: {
  subject: Subject;
  bundle: { digest: OciDigest; size: number };
  predicateType: string;
  created: string;
}): Referrer {
  const { subject, bundle, predicateType, created } = options;
  const annotations = {
    'dev.sigstore.bundle.content': 'dsse-envelope',
    'dev.sigstore.bundle.predicateType': predicateType,
    'org.opencontainers.image.created': created,
  };
  return referrerManifest({
    subject,
    artifactType: BUNDLE_MEDIA_TYPE,
    layers: [{ mediaType: BUNDLE_MEDIA_TYPE, digest: bundle.digest, size: bundle.size }],
    annotations,
  });
}

/**
 * Returns the layer with the bundle, undefined unless the manifest has exactly one layer. Clients differ in all else.
 */
export function bundleLayer({ layers }: ImageManifest): ImageManifest['layers'][number] | undefined {
  const [layer, ...more] = layers;
  return layer !== undefined && more.length === 0 && isBundleType(layer.mediaType) ? layer : undefined;
}
