import type { Digest } from '@krmhub/schema';
import { canonicalJson, sha256 } from '@krmhub/schema/digest';
import type { UpstreamCatalog } from '../recipe/recipe.js';

/** What a recipe says of how the bytes of a source are read. */
export type Reading = Pick<UpstreamCatalog, 'defaults' | 'format' | 'group'>;

/** Counts the changes of what converters make of the same bytes: copies that an earlier one read are read again. */
const CONVERTER_REVISION = 1;

export function readingOf({ defaults, format, group }: Reading): Reading {
  return {
    ...(defaults === undefined ? {} : { defaults }),
    ...(format === undefined ? {} : { format }),
    ...(group === undefined ? {} : { group }),
  };
}

/** Identifies a reading: a copy that was read in another way is read again. Undefined for a catalog as it is. */
export function readingDigest(upstream: Reading): Digest | undefined {
  const reading = readingOf(upstream);
  if (Object.keys(reading).length === 0) return undefined;
  const revision = reading.format === undefined ? {} : { revision: CONVERTER_REVISION };
  return sha256(canonicalJson({ ...reading, ...revision }));
}
