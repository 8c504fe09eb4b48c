import type { OpenableBlobs, ReleaseHead } from '@krmhub/catalog';
import {
  CREATED,
  type Descriptor,
  IMAGE_TYPE_BYTES,
  type ImageType,
  imageType,
  type ManifestDescriptor,
  type ManifestReader,
  README_IMAGE_LIMITS,
  README_IMAGES_TYPE,
  readmeImagePath,
  TITLE,
} from '@krmhub/oci';
import { type Digest, isDigest } from '@krmhub/schema';
import { functionRepository } from '../../store/artifacts/repositories.js';
import { isPushed } from '../../store/artifacts/stored-blob.js';
import { readSmallManifest } from './small-manifest.js';

/** An image in the repository of a function. It is part of the input of a page, so it only names the bytes. */
export interface StoredImage {
  /** In the README. */
  path: string;
  /** Names the file. */
  digest: Digest;
  /** Whether it is a file of an attached artifact, which no signature of the release covers. */
  isAttached: boolean;
}

export type ReleaseImageStore = ManifestReader;

/**
 * Finds the images of a release: layers of its own manifest, and of artifacts that are attached to it, the newest
 * first. Every request looks them up, so a deleted image disappears from the page at once.
 */
export async function findReleaseImages(
  store: ReleaseImageStore,
  release: ReleaseHead,
  isWanted: (image: Pick<StoredImage, 'path' | 'digest'>) => boolean,
): Promise<StoredImage[]> {
  const repository = functionRepository(release);
  const found = new Map<string, StoredImage>();
  const add = async (layers: readonly Descriptor[], isAttached: boolean) => {
    for (const { annotations, digest } of layers.slice(0, README_IMAGE_LIMITS.maxImages)) {
      const path = readmeImagePath(annotations?.[TITLE] ?? '');
      if (path === undefined || found.has(path)) continue;
      // A file has the sha256 digest as its name.
      if (!isDigest(digest) || !isWanted({ path, digest })) continue;
      const blob = await store.blob(repository, digest);
      if (blob === undefined || !isPushed(blob) || blob.size > README_IMAGE_LIMITS.maxBytes) continue;
      found.set(path, { path, digest, isAttached });
    }
  };
  const own = await store.manifestDescriptor(repository, release.release);
  if (own === undefined) return [];
  await add((await readSmallManifest(store, repository, own.digest))?.layers ?? [], false);
  const attached = await store.referrers(repository, own.digest, {
    artifactType: README_IMAGES_TYPE,
    after: '',
    limit: README_IMAGE_LIMITS.maxArtifacts,
  });
  const created = ({ annotations }: ManifestDescriptor) => annotations?.[CREATED] ?? '';
  const newestFirst = attached.sort(
    (a, b) => Number(created(a) < created(b)) - Number(created(a) > created(b)),
  );
  for (const { digest } of newestFirst) {
    await add((await readSmallManifest(store, repository, digest))?.layers ?? [], true);
  }
  return [...found.values()];
}

/** Returns the type of a stored file from its first bytes; undefined if it is not an image, or was deleted. */
export async function storedImageType(
  artifacts: OpenableBlobs,
  digest: Digest,
): Promise<ImageType | undefined> {
  const open = await artifacts.open(digest);
  if (open === undefined) return undefined;
  try {
    const start = new Uint8Array(IMAGE_TYPE_BYTES);
    return imageType(start.subarray(0, await open.readInto(start, 0)));
  } finally {
    await open.close();
  }
}
