import { KrmhubError } from '@krmhub/schema/error';
import { computeDigest, type OciDigest } from './digest.js';
import {
  type Descriptor,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  type ImageManifest,
  type Manifest,
  MEDIA_TYPES,
} from './manifest.js';

/**
 * What KEP-2906 distributes by OCI registries. It names the media types of layers; the artifact types beside them are
 * ours, made in the same way. For exec functions it repeats the type of Starlark by mistake: what we write says exec,
 * and the repeated one is read where the artifact says that it is exec.
 */
export const ARTIFACT_TYPES = ['catalog', 'definition', 'starlark', 'exec'] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

const VENDOR = 'application/vnd.cncf.kubernetes.krm-func';

export const ARTIFACT_MEDIA_TYPES: Record<ArtifactType, { artifact: string; layer: string }> = {
  catalog: { artifact: `${VENDOR}-catalog.v1`, layer: `${VENDOR}-catalog.layer.v1+yaml` },
  definition: { artifact: `${VENDOR}-definition.v1`, layer: `${VENDOR}-definition.layer.v1+yaml` },
  starlark: {
    artifact: `${VENDOR}-runtime-starlark.v1`,
    layer: `${VENDOR}-runtime-starlark.layer.v1`,
  },
  exec: { artifact: `${VENDOR}-runtime-exec.v1`, layer: `${VENDOR}-runtime-exec.layer.v1` },
};

export const TITLE = 'org.opencontainers.image.title';
export const CREATED = 'org.opencontainers.image.created';
export const VERSION = 'org.opencontainers.image.version';

/** A file of an artifact. */
export interface ArtifactFile {
  /** What it is called when it is pulled. */
  title: string;
  mediaType: string;
  digest: OciDigest;
  /** Bytes. */
  size: number;
}

export interface Platform {
  os: string;
  architecture: string;
}

/** The manifest of an artifact; the same input gives the same bytes. `created` is RFC 3339; a manifest can do without. */
export function artifactManifest(options: {
  type: ArtifactType;
  files: readonly ArtifactFile[];
  created?: string;
  annotations?: Readonly<Record<string, string>>;
}): Uint8Array {
  const { type, files, created, annotations } = options;
  return encodeJson({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.image,
    artifactType: ARTIFACT_MEDIA_TYPES[type].artifact,
    config: { mediaType: MEDIA_TYPES.empty, digest: EMPTY_DIGEST, size: EMPTY_CONFIG.byteLength },
    layers: files.map(({ title, mediaType, digest, size }) => ({
      mediaType,
      digest,
      size,
      annotations: { [TITLE]: title },
    })),
    annotations: sortKeys({ ...(created === undefined ? {} : { [CREATED]: created }), ...annotations }),
  });
}

/** Digest and size of a file of a release. */
export interface ReleaseFile {
  digest: OciDigest;
  /** Bytes. */
  size: number;
}

/** The files of a release as a registry stores them: the definition as it was published, and its README beside it. */
export function releaseFiles({
  definition,
  readme,
}: {
  definition: ReleaseFile & { mediaType: 'application/yaml' | 'application/json' };
  readme?: ReleaseFile | undefined;
}): ArtifactFile[] {
  const { digest, size } = definition;
  const title = definition.mediaType === 'application/json' ? 'definition.json' : 'definition.yaml';
  const mediaType = ARTIFACT_MEDIA_TYPES.definition.layer;
  return [
    { title, mediaType, digest, size },
    ...(readme === undefined ? [] : [{ title: 'README.md', mediaType: 'text/markdown', ...readme }]),
  ];
}

/**
 * The manifest that a registry makes of a release. It holds no time, so that who publishes knows its digest before,
 * and can sign it.
 */
export function releaseManifest(release: string, files: readonly ArtifactFile[]): Uint8Array {
  return artifactManifest({ type: 'definition', files, annotations: { [VERSION]: release } });
}

/** One manifest for each platform, as an index. */
export function platformIndex(options: {
  type: ArtifactType;
  manifests: readonly { platform: Platform; bytes: Uint8Array }[];
  created: string;
  annotations?: Readonly<Record<string, string>>;
}): Uint8Array {
  const { type, manifests, created, annotations } = options;
  const artifactType = ARTIFACT_MEDIA_TYPES[type].artifact;
  return encodeJson({
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.index,
    artifactType,
    manifests: manifests.map(({ platform: { os, architecture }, bytes }) => ({
      mediaType: MEDIA_TYPES.image,
      digest: computeDigest(bytes),
      size: bytes.byteLength,
      artifactType,
      platform: { architecture, os },
    })),
    annotations: sortKeys({ [CREATED]: created, ...annotations }),
  });
}

/** What an artifact says that it is; undefined for what KEP-2906 knows nothing of. */
export function getArtifactType(manifest: Manifest): ArtifactType | undefined {
  const { artifactType } = manifest.kind === 'image' ? manifest.image : manifest.index;
  const config = manifest.kind === 'image' ? manifest.image.config.mediaType : undefined;
  // Until image-spec 1.1 the type of the configuration said what an artifact is.
  const said = artifactType ?? (config === MEDIA_TYPES.empty ? undefined : config);
  const named = ARTIFACT_TYPES.find((type) => ARTIFACT_MEDIA_TYPES[type].artifact === said);
  if (named !== undefined || manifest.kind === 'index') return named;
  const [layer] = manifest.image.layers;
  return ARTIFACT_TYPES.find((type) => ARTIFACT_MEDIA_TYPES[type].layer === layer?.mediaType);
}

/** The one layer that holds what the artifact is. Throws `invalid-document` where there is none, or more than one. */
export function mainLayer(image: ImageManifest, type: ArtifactType): Descriptor {
  const wanted = [ARTIFACT_MEDIA_TYPES[type].layer];
  if (type === 'exec') wanted.push(ARTIFACT_MEDIA_TYPES.starlark.layer);
  const found = image.layers.filter(({ mediaType }) => wanted.includes(mediaType));
  if (found.length === 1) return found[0]!;
  const types = image.layers.map(({ mediaType }) => mediaType.slice(0, 100)).slice(0, 3);
  throw new KrmhubError(
    'invalid-document',
    found.length === 0
      ? `the artifact has no layer ${wanted[0]}, but ${types.join(', ') || 'none at all'}`
      : `the artifact has ${found.length} layers ${wanted[0]}, and one is expected`,
  );
}

function sortKeys(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
