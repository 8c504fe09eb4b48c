import type { CatalogReader, CatalogRecord, SourceStore } from '@krmhub/catalog';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { Log } from '../log.js';

/** Moves the clock of a catalog forward when entries reach their minimum age, so that the next build includes them. */
export class MinimumAgeScheduler {
  readonly #deps: { store: SourceStore & CatalogReader; log: Log };
  /** Minimum ages by catalog, with the recipe that sets them. */
  readonly #ages = new Map<string, { recipe: string; ages: ReadonlyMap<string, number> }>();

  constructor(deps: { store: SourceStore & CatalogReader; log: Log }) {
    this.#deps = deps;
  }

  /** Returns when the next entry is due, in milliseconds since the epoch like `now`; Infinity if none is. */
  async applyDue(now: number, onEvent: () => void): Promise<number> {
    const { store, log } = this.#deps;
    const at = new Date(now).toISOString();
    const catalogs = await store.catalogs();
    let next = Number.POSITIVE_INFINITY;
    for (const name of this.#ages.keys()) {
      if (!catalogs.some((catalog) => catalog.name === name)) this.#ages.delete(name);
    }
    for (const catalog of catalogs) {
      const minimumAges = this.#readAges(catalog);
      if (minimumAges.size === 0) continue;
      const { name } = catalog;
      const due = await store.nextMinimumAgeAt(name, minimumAges);
      if (due === undefined) continue;
      if (due > at) {
        next = Math.min(next, Date.parse(due));
        continue;
      }
      const event = { type: 'source.matured' as const, at, by: 'krmhub', catalog: name };
      const matured = await store.advanceCatalogClock({ catalog: name, minimumAges, now: at, event });
      const following = await store.nextMinimumAgeAt(name, minimumAges);
      if (following !== undefined) next = Math.min(next, Date.parse(following));
      if (matured === undefined) continue;
      log.info({ catalog: name }, 'upstream entries reached their minimum age');
      onEvent();
    }
    return next;
  }

  #readAges(catalog: CatalogRecord): ReadonlyMap<string, number> {
    const { name, recipe } = catalog;
    const known = this.#ages.get(name);
    if (known?.recipe === recipe) return known.ages;
    const ages = new Map<string, number>();
    try {
      for (const source of storedRecipe(catalog).sources) {
        const age = source.catalog?.minimumAgeSeconds ?? 0;
        if (age > 0) ages.set(source.name, age);
      }
    } catch (error) {
      // The catalog is not built either, and the builder reports the error.
      this.#deps.log.error({ err: error, catalog: name }, 'cannot read the minimum ages of a recipe');
    }
    this.#ages.set(name, { recipe, ages });
    return ages;
  }
}
