import type { OciDigest } from './digest.js';
import { EMPTY_CONFIG, EMPTY_DIGEST, MEDIA_TYPES } from './manifest.js';

const CONTENT = 'dev.sigstore.bundle.content';
const PREDICATE_TYPE = 'dev.sigstore.bundle.predicateType';

/**
 * The manifest by which a sigstore bundle with a DSSE envelope is found as a referrer of what it signs, as cosign 3 writes
 * and reads it: one layer, whose media type the artifact has too.
 */
export function bundleManifest(options: {
  /** Media type of the bundle. */
  mediaType: string;
  bundle: { digest: OciDigest; size: number };
  /** The manifest that it speaks of. */
  subject: { mediaType: string; digest: OciDigest; size: number };
  predicateType: string;
  /** RFC 3339. */
  created: string;
}): { bytes: Uint8Array; annotations: Record<string, string> } {
  const { mediaType, bundle, subject, predicateType, created } = options;
  const annotations = {
    [CONTENT]: 'dsse-envelope',
    [PREDICATE_TYPE]: predicateType,
    'org.opencontainers.image.created': created,
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    artifactType: mediaType,
    config: { mediaType: MEDIA_TYPES.empty, digest: EMPTY_DIGEST, size: EMPTY_CONFIG.byteLength },
    layers: [{ mediaType, digest: bundle.digest, size: bundle.size }],
    subject: { mediaType: subject.mediaType, digest: subject.digest, size: subject.size },
    annotations,
  };
  return { bytes: new TextEncoder().encode(JSON.stringify(manifest)), annotations };
}
