import type { Digest } from '@krmhub/schema';
import { canonicalJson, sha256 } from '@krmhub/schema/digest';
import type { UpstreamCatalog } from '../recipe/recipe.js';

/** What a recipe says of how the bytes of a source are read. */
export type Reading = Pick<UpstreamCatalog, 'defaults'>;

/** Identifies a reading: a copy that was read in another way is read again. Undefined for a catalog as it is. */
export function readingDigest({ defaults }: Reading): Digest | undefined {
  return defaults === undefined ? undefined : sha256(canonicalJson({ defaults }));
}
