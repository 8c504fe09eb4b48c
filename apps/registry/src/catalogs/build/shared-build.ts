import { hasUpstreams, type SegmentReader } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { catalogHeader } from '../catalog-header.js';
import type { BuiltSegments, SegmentsBuild } from '../segments/build-segments.js';
import type { ComparedCatalog } from './entry-comparison.js';

/**
 * Catalogs that one build hashes the documents of. Nothing else is built in that time, and a takedown waits for it, so
 * they are few.
 */
const MAX_HASHED_TOGETHER = 16;

type Compared = Pick<ComparedCatalog, 'catalog' | 'recipe' | 'readerRules'>;

/** Puts those catalogs together whose entries are the same, as far as that is known before they are selected. */
export function withSameEntries<Catalog extends Compared>(catalogs: readonly Catalog[]): Catalog[][] {
  const groups = new Map<string, Catalog[]>();
  for (const one of catalogs) {
    const { catalog, recipe, readerRules } = one;
    // A policy can depend on when the recipe was applied, and a catalog with a snapshot has other changes.
    const isOwn = catalog.newest !== undefined || recipe.policy !== undefined || hasUpstreams(recipe);
    const key = isOwn ? catalog.name : JSON.stringify([readerRules, recipe.sources]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

/** What new catalogs with the same entries are built from: the first one is built, and some of the others with it. */
export class SharedBuild {
  readonly #headers: SegmentsBuild['header'][];
  #built: BuiltSegments | undefined;

  constructor(catalogs: readonly Compared[]) {
    this.#headers = catalogs.map(({ catalog, recipe: { labels } }) =>
      catalogHeader({ catalog: catalog.name, ...defined({ labels }) }),
    );
  }

  /**
   * Calls `build` for a catalog, with those that come after it. The contents of the segments are stored with that one:
   * if one is missing, because the first was not stored or nothing needs it any more, a catalog is built by itself.
   */
  async of(
    catalog: string,
    build: (others: SegmentsBuild['header'][]) => Promise<BuiltSegments>,
    store: SegmentReader,
  ): Promise<BuiltSegments> {
    const built = this.#built;
    const hashed = built?.others.get(catalog);
    if (built !== undefined && hashed !== undefined) {
      const missing = await store.missingSegments(built.segments.added.map(({ digest }) => digest));
      return missing.length === 0 ? { ...built, ...hashed } : build([]);
    }
    const at = this.#headers.findIndex(({ name }) => name === catalog);
    const made = await build(this.#headers.slice(at + 1, at + MAX_HASHED_TOGETHER));
    this.#built = { ...made, segments: { ...made.segments, contents: [] } };
    return made;
  }
}
