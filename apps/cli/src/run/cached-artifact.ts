import type { Cache } from '@krmhub/consume/cache/cache';
import {
  MAX_MANIFEST_BYTES,
  type Manifest,
  MEDIA_TYPES,
  mainLayer,
  type Platform,
  type ProgramArtifact,
  readManifest,
} from '@krmhub/oci';
import type { Digest } from '@krmhub/schema/digest';
import { isDigest } from '@krmhub/schema/digest';

/**
 * Returns the digest of the file of an exec or Starlark artifact whose manifests are in the cache, of an index the one
 * for the platform. Undefined if a manifest is missing, or is not one.
 */
export async function cachedArtifact(
  cache: Cache,
  digest: Digest,
  platform: Platform,
  artifact: ProgramArtifact = 'exec',
): Promise<Digest | undefined> {
  const named = await readCached(cache, digest);
  if (named === undefined) return undefined;
  if (named.kind === 'image') return findFile(named, artifact);
  const found = named.index.manifests.find(
    (one) => one.platform?.os === platform.os && one.platform.architecture === platform.architecture,
  );
  const inside =
    found === undefined || !isDigest(found.digest) ? undefined : await readCached(cache, found.digest);
  return inside === undefined ? undefined : findFile(inside, artifact);
}

async function readCached(cache: Cache, digest: Digest): Promise<Manifest | undefined> {
  const bytes = await cache.readBlob(digest, MAX_MANIFEST_BYTES);
  if (bytes === undefined) return undefined;
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as { mediaType?: unknown; manifests?: unknown };
    const type = value.mediaType ?? (Array.isArray(value.manifests) ? MEDIA_TYPES.index : MEDIA_TYPES.image);
    return readManifest(bytes, String(type));
  } catch {
    return undefined;
  }
}

function findFile(manifest: Manifest, artifact: ProgramArtifact): Digest | undefined {
  if (manifest.kind !== 'image') return undefined;
  try {
    const { digest } = mainLayer(manifest.image, artifact);
    return isDigest(digest) ? digest : undefined;
  } catch {
    return undefined;
  }
}
