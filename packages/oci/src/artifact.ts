import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
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
 * The artifacts that KEP-2906 distributes with OCI registries. The KEP defines the media types of the layers; krmhub
 * adds artifact types in the same style. For exec functions the KEP repeats the layer type of Starlark by mistake:
 * krmhub writes an exec type, and reads the Starlark type too if the artifact type is exec.
 */
export const ARTIFACT_TYPES = ['catalog', 'definition', 'starlark', 'exec'] as const;
export type ArtifactType = (typeof ARTIFACT_TYPES)[number];

/** Artifacts with a program of a function. */
export type ProgramArtifact = Exclude<ArtifactType, 'catalog' | 'definition'>;

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
  /** File name when the artifact is pulled. */
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

/** Returns the manifest of an artifact. The same input always gives the same bytes. `created` is RFC 3339. */
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
    annotations: sortKeys({ ...defined({ [CREATED]: created }), ...annotations }),
  });
}

/** Digest and size of a file of a release. */
export interface ReleaseFile {
  digest: OciDigest;
  /** Bytes. */
  size: number;
}

/** Returns the files of a release in a krmhub registry: the exact definition and the README. */
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
 * Returns the manifest of a release in a krmhub registry. It contains no time, so that a publisher can compute and sign
 * its digest before publishing.
 */
export function releaseManifest(release: string, files: readonly ArtifactFile[]): Uint8Array {
  return artifactManifest({ type: 'definition', files, annotations: { [VERSION]: release } });
}

/** Returns an index with one manifest per platform. */
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

/** Returns the type of an artifact; undefined for artifacts that KEP-2906 does not define. */
export function getArtifactType(manifest: Manifest): ArtifactType | undefined {
  const { artifactType } = manifest.kind === 'image' ? manifest.image : manifest.index;
  const config = manifest.kind === 'image' ? manifest.image.config.mediaType : undefined;
  // Before image-spec 1.1 the media type of the config was the artifact type.
  const declared = artifactType ?? (config === MEDIA_TYPES.empty ? undefined : config);
  const named = ARTIFACT_TYPES.find((type) => ARTIFACT_MEDIA_TYPES[type].artifact === declared);
  if (named !== undefined || manifest.kind === 'index') return named;
  const [layer] = manifest.image.layers;
  return ARTIFACT_TYPES.find((type) => ARTIFACT_MEDIA_TYPES[type].layer === layer?.mediaType);
}

/** Returns the layer with the content of the artifact. Throws `invalid-document` unless there is exactly one. */
export function mainLayer(image: ImageManifest, type: ArtifactType): Descriptor {
  const wanted = [ARTIFACT_MEDIA_TYPES[type].layer];
  if (type === 'exec') wanted.push(ARTIFACT_MEDIA_TYPES.starlark.layer);
  const found = image.layers.filter(({ mediaType }) => wanted.includes(mediaType));
  if (found.length === 1) return found[0]!;
  const types = image.layers.map(({ mediaType }) => mediaType.slice(0, 100)).slice(0, 3);
  throw new KrmhubError(
    'invalid-document',
    found.length === 0
      ? `the artifact has no layer ${wanted[0]}; its layers are: ${types.join(', ') || 'none'}`
      : `the artifact has ${found.length} layers ${wanted[0]}, expected one`,
  );
}

/** Reports whether an artifact is a Starlark script. */
export function isScript(image: ImageManifest): boolean {
  return getArtifactType({ kind: 'image', image }) === 'starlark';
}

/** Returns the layer of a Starlark script; undefined for other artifacts. Throws as `mainLayer`. */
export function scriptLayer(image: ImageManifest): Descriptor | undefined {
  return isScript(image) ? mainLayer(image, 'starlark') : undefined;
}

function sortKeys(annotations: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).sort(([a], [b]) => compareText(a, b)));
}

function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
