import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { canonicalJson, sha256 } from '@krmhub/schema/digest';
import type { UpstreamCatalog } from '../recipe/recipe.js';

/** The settings of a recipe that determine how a source is read. */
export type Reading = Pick<UpstreamCatalog, 'defaults' | 'format' | 'group' | 'groups'>;

/** The version of the converters. Copies that an earlier version read are read again. */
const CONVERTER_REVISION = 2;

export function pickReading({ defaults, format, group, groups }: Reading): Reading {
  return defined({ defaults, format, group, groups });
}

/** Identifies how a copy was read, so that it is read again after a change. Undefined for a plain catalog. */
export function readingDigest(upstream: Reading): Digest | undefined {
  const reading = pickReading(upstream);
  if (Object.keys(reading).length === 0) return undefined;
  const revision = reading.format === undefined ? {} : { revision: CONVERTER_REVISION };
  return sha256(canonicalJson({ ...reading, ...revision }));
}

/** How kpt and its users name the files with the metadata of functions. */
const KPT_METADATA = /(?:^|[-_.])metadata\.(?:ya?ml|json)$/i;

/** Returns what to read of the folder of a source; nothing for a catalog. */
export function folderReading({ format, releases = 'folders', paths }: UpstreamCatalog): {
  folder?: { releases: 'folders' | 'tags'; paths?: readonly string[]; names?: RegExp };
} {
  if (format === undefined) return {};
  return {
    folder: {
      releases,
      ...defined({ paths, names: format === 'kpt-metadata' ? KPT_METADATA : undefined }),
    },
  };
}
