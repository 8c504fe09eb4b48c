import { compareText } from '@krmhub/schema/compare-text';
import { type ArchiveFile, storedGzip, tarArchive } from './archive.js';
import { CREATED } from './artifact.js';
import { computeDigest, type OciDigest } from './digest.js';
import { MEDIA_TYPES } from './manifest.js';

/** The layout that `flux push artifact` gives an artifact, and that an OCIRepository of Flux reads. */
export const FLUX_MEDIA_TYPES = {
  config: 'application/vnd.cncf.flux.config.v1+json',
  content: 'application/vnd.cncf.flux.content.v1.tar+gzip',
} as const;

/** What Flux shows of an artifact: where its manifests come from. */
export const SOURCE = 'org.opencontainers.image.source';
export const REVISION = 'org.opencontainers.image.revision';

export interface FluxArtifact {
  layer: { bytes: Uint8Array; digest: OciDigest };
  config: { bytes: Uint8Array; digest: OciDigest };
  manifest: Uint8Array;
}

/**
 * Returns an artifact with these files. The same files, time and annotations always give the same bytes. `created` is
 * RFC 3339.
 */
export function fluxArtifact(options: {
  files: readonly ArchiveFile[];
  created: string;
  annotations: Readonly<Record<string, string>>;
}): FluxArtifact {
  const { created } = options;
  const archive = tarArchive(options.files);
  const layer = blob(storedGzip(archive));
  // What go-containerregistry writes for an image without a platform, so that image tools read the artifact too.
  const config = blob(
    encodeJson({
      architecture: '',
      config: {},
      created,
      history: [{ created }],
      os: '',
      rootfs: { type: 'layers', diff_ids: [computeDigest(archive)] },
    }),
  );
  const annotations = Object.entries({ [CREATED]: created, ...options.annotations });
  const manifest = encodeJson({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    config: { mediaType: FLUX_MEDIA_TYPES.config, digest: config.digest, size: config.bytes.byteLength },
    layers: [{ mediaType: FLUX_MEDIA_TYPES.content, digest: layer.digest, size: layer.bytes.byteLength }],
    annotations: Object.fromEntries(annotations.sort(([a], [b]) => compareText(a, b))),
  });
  return { layer, config, manifest };
}

function blob(bytes: Uint8Array): { bytes: Uint8Array; digest: OciDigest } {
  return { bytes, digest: computeDigest(bytes) };
}

function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
