import { computeDigest, type OciDigest } from './digest.js';
import { type Descriptor, EMPTY_CONFIG, EMPTY_DIGEST, MEDIA_TYPES } from './manifest.js';
import type { ManifestRecord } from './manifest-store.js';

/** The manifest that a referrer refers to. */
export interface Subject {
  mediaType: string;
  digest: OciDigest;
  /** Bytes. */
  size: number;
}

export type Referrer = ManifestRecord & { subject: OciDigest };

/** Returns the manifest of an artifact without a config that refers to another manifest (image-spec, "manifest.md"). */
export function referrerManifest(options: {
  subject: Subject;
  artifactType: string;
  layers: readonly Descriptor[];
  annotations: Record<string, string>;
}): Referrer {
  const { subject, artifactType, layers, annotations } = options;
  const bytes = new TextEncoder().encode(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.image,
      artifactType,
      config: { mediaType: MEDIA_TYPES.empty, digest: EMPTY_DIGEST, size: EMPTY_CONFIG.byteLength },
      layers,
      subject: { mediaType: subject.mediaType, digest: subject.digest, size: subject.size },
      annotations,
    }),
  );
  return {
    digest: computeDigest(bytes),
    mediaType: MEDIA_TYPES.image,
    size: bytes.byteLength,
    bytes,
    artifactType,
    annotations,
    references: layers.map(({ digest }) => digest),
    subject: subject.digest,
  };
}

/** Returns the annotation of a time. */
export function createdAt(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
