import { type ImageManifest, type ManifestReader, readStoredManifest } from '@krmhub/oci';
import { KrmhubError } from '@krmhub/schema';

/** Bytes of a manifest that is read for each request of a page. Most have less than one kilobyte. */
const MAX_MANIFEST_BYTES = 16_384;

/** Returns a small image manifest; undefined for a missing one, a larger one, and other manifests. */
export async function readSmallManifest(
  store: ManifestReader,
  repository: string,
  reference: string,
): Promise<ImageManifest | undefined> {
  const { size = Number.POSITIVE_INFINITY } = (await store.manifestDescriptor(repository, reference)) ?? {};
  if (size > MAX_MANIFEST_BYTES) return undefined;
  const found = await store.manifest(repository, reference);
  if (found === undefined) return undefined;
  const manifest = readStoredManifest(found.bytes, found.mediaType);
  return manifest?.kind === 'image' ? manifest.image : undefined;
}

/** Returns undefined where a text from a publisher is not what it should be. */
export function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}
