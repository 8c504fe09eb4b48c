/**
 * Releases and snapshots as OCI artifacts: manifests, repositories, and where the bytes of a blob are.
 *
 * A manifest follows from the content, so its digest is the same whenever it is made. The row of a blob says where its
 * bytes are, such as in a release, so that no content is stored twice (stored-blob.ts).
 *
 * @module
 */

import type { ReleaseRecord, SnapshotRecord } from '@krmhub/catalog';
import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactFile,
  type ArtifactType,
  artifactManifest,
  CREATED,
  computeDigest,
  type ManifestRecord,
  MEDIA_TYPES,
  releaseFiles,
  releaseManifest,
  VERSION,
} from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import type { Artifact } from './artifact-store.js';
import { catalogRepository, functionRepository } from './repositories.js';

type ReleaseContent = Pick<ReleaseRecord, 'group' | 'kind' | 'release' | 'digest' | 'size' | 'mediaType'>;

/** A release as an artifact: the definition as it was published, and its README beside it. */
export function releaseArtifact(
  release: ReleaseContent,
  readme: { digest: Digest; size: number } | undefined,
): Artifact {
  const { digest, size, mediaType } = release;
  const files = releaseFiles({ definition: { digest, size, mediaType }, readme });
  return {
    repository: functionRepository(release),
    tags: [release.release],
    manifest: record('definition', files, releaseManifest(release.release, files), {
      [VERSION]: release.release,
    }),
    blobs: files.map((file) => ({
      digest: file.digest,
      file: file.digest as Digest,
      place: 'releases',
      size: file.size,
    })),
  };
}

/** A snapshot as an artifact: its catalog.yaml of so many bytes. */
export function snapshotArtifact(snapshot: SnapshotRecord, size: number): Artifact {
  const { catalog, serial, digests, createdAt } = snapshot;
  const digest = digests['catalog.yaml'];
  const mediaType = ARTIFACT_MEDIA_TYPES.catalog.layer;
  const files = [{ title: 'catalog.yaml', mediaType, digest, size }];
  const annotations = { [CREATED]: createdAt, [VERSION]: String(serial) };
  return {
    repository: catalogRepository(catalog),
    tags: [String(serial), 'latest'],
    manifest: record(
      'catalog',
      files,
      artifactManifest({ type: 'catalog', files, annotations }),
      annotations,
    ),
    blobs: [{ digest, file: digest, place: 'forms', size }],
  };
}

/** The same release or snapshot gives the same bytes, whenever they are made. */
function record(
  type: ArtifactType,
  files: readonly ArtifactFile[],
  bytes: Uint8Array,
  annotations: Record<string, string>,
): ManifestRecord {
  return {
    digest: computeDigest(bytes),
    mediaType: MEDIA_TYPES.image,
    size: bytes.byteLength,
    bytes,
    artifactType: ARTIFACT_MEDIA_TYPES[type].artifact,
    annotations,
    references: files.map(({ digest }) => digest),
  };
}
