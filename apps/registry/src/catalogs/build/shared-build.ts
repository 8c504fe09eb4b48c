import { hasUpstreams } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { catalogHeader } from '../catalog-header.js';
import type { BuiltSegments, SegmentsBuild } from '../segments/build-segments.js';
import type { ComparedCatalog } from './entry-comparison.js';

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

/** What new catalogs with the same entries are built from: the first one is built, and the others with it. */
export class SharedBuild {
  readonly #headers: SegmentsBuild['header'][];
  #built: BuiltSegments | undefined;

  constructor(catalogs: readonly Compared[]) {
    this.#headers = catalogs.map(({ catalog, recipe: { labels } }) =>
      catalogHeader({ catalog: catalog.name, ...defined({ labels }) }),
    );
  }

  /** Calls `build` for the first catalog. The contents of the segments are those of the first one. */
  async of(
    catalog: string,
    build: (others: SegmentsBuild['header'][]) => Promise<BuiltSegments>,
  ): Promise<BuiltSegments> {
    const built = this.#built;
    const hashed = built?.others.get(catalog);
    if (built !== undefined && hashed !== undefined) return { ...built, ...hashed };
    const others = this.#headers.filter(({ name }) => name !== catalog);
    const made = await build(built === undefined ? others : []);
    // They are stored with the first catalog. If they are not, the build of another one fails, and begins again.
    this.#built ??= { ...made, segments: { ...made.segments, contents: [] } };
    return made;
  }
}
