import type { RegistryContext } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import type { FunctionReading } from './read-function.js';
import { README_IMAGES } from './readme-images.js';
import { findReleaseImages, type ReleaseImageStore, type StoredImage } from './release-images.js';

/** Returns the images that the README of the displayed release names and the release has. */
export async function findReadmeImages(
  c: RegistryContext,
  { store, derived }: { store: ReleaseImageStore; derived: DerivedDocuments },
  { known }: FunctionReading,
): Promise<StoredImage[]> {
  const readme = known?.release.readme;
  if (readme === undefined) return [];
  const json = await derived.bytes(c, README_IMAGES, { readme });
  const named = new Set(JSON.parse(new TextDecoder().decode(json)) as string[]);
  if (named.size === 0) return [];
  return findReleaseImages(store, known!.release, ({ path }) => named.has(path));
}
