import {
  type CatalogReader,
  type CatalogRecord,
  type Event,
  type EventReader,
  type FunctionReader,
  functionKey,
  hasUpstreams,
  isCandidate,
  type Recipe,
  type SnapshotStore,
} from '@krmhub/catalog';
import { type FunctionName, KrmhubError } from '@krmhub/schema';
import { storedRecipe } from '../stored-recipe.js';

/** New events after which examining each takes longer than visiting every catalog. */
const MAX_EVENTS = 2_000;

/** Catalogs that are read one by one. */
const FEW_CATALOGS = 8;
/** Time until catalogs that events did not change are marked: one statement for all. */
const PASS_OVER_MILLISECONDS = 10_000;

type ChangesStore = EventReader & CatalogReader & Pick<SnapshotStore, 'passOver'> & FunctionReader;

/** What new events change. */
export interface Changes {
  /** The last event. */
  through: number;
  /** Catalogs that the events may change, by name; undefined for all. */
  affected: ReadonlySet<string> | undefined;
  /** How many functions of this registry changed; 0 if that is not known. */
  functions: number;
}

/**
 * Finds the catalogs that new events may change, from the recipes, which it has in memory: so the cost of a publish does
 * not grow with the catalogs that do not select it.
 */
export class CatalogChanges {
  readonly #store: ChangesStore;
  readonly #recipes = new Map<string, Recipe | undefined>();
  /** The last event that was examined. */
  #seen: number | undefined;
  #passOverAt = Number.POSITIVE_INFINITY;

  constructor(store: ChangesStore) {
    this.#store = store;
  }

  /** The catalogs that were not deleted, as far as the events say that were examined. */
  get names(): string[] {
    return [...this.#recipes.keys()];
  }

  /** Returns what the events since the last call change; for the first call, everything. */
  async next(): Promise<Changes> {
    const seen = this.#seen;
    const events = seen === undefined ? undefined : await this.#eventsSince(seen);
    const changes = events && (await this.#changesBy(events));
    if (changes === undefined) return this.#everything();
    const last = events!.at(-1)?.sequence;
    if (last === undefined) return { through: seen!, ...changes };
    this.#seen = last;
    this.#passOverAt = Math.min(this.#passOverAt, performance.now() + PASS_OVER_MILLISECONDS);
    return { through: last, ...changes };
  }

  /** Returns catalogs after `next`, with their recipes of then. */
  async read(names: readonly string[]): Promise<Map<string, CatalogRecord>> {
    const store = this.#store;
    const all =
      names.length > FEW_CATALOGS
        ? await store.catalogs()
        : (await Promise.all(names.map((name) => store.catalog(name)))).flatMap((found) => found ?? []);
    const byName = new Map(all.map((catalog) => [catalog.name, catalog]));
    const found = new Map<string, CatalogRecord>();
    for (const name of names) {
      const catalog = byName.get(name);
      if (catalog !== undefined) found.set(name, catalog);
      this.#keep(name, catalog);
    }
    return found;
  }

  /** Returns the milliseconds until `passOver` has something to do; infinite if there were no events. */
  untilPassOver(): number {
    return Math.max(this.#passOverAt - performance.now(), 0);
  }

  /** Marks the catalogs that events did not change, so that a later process need not examine these events. */
  async passOver(isBehind: (name: string) => boolean): Promise<void> {
    if (this.#seen === undefined || this.untilPassOver() > 0) return;
    this.#passOverAt = Number.POSITIVE_INFINITY;
    const names = this.names.filter((name) => !isBehind(name));
    try {
      if (names.length > 0) await this.#store.passOver(names, this.#seen);
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'unavailable') throw error;
      // It changes no catalog, so it can wait, for example while the registry is moved.
      this.#passOverAt = performance.now() + PASS_OVER_MILLISECONDS;
    }
  }

  #keep(name: string, catalog: CatalogRecord | undefined): void {
    if (catalog === undefined) this.#recipes.delete(name);
    else this.#recipes.set(name, readableRecipe(catalog));
  }

  async #everything(): Promise<Changes> {
    this.#seen = undefined;
    const through = await this.#store.lastEvent();
    const catalogs = await this.#store.catalogs();
    this.#recipes.clear();
    for (const catalog of catalogs) this.#keep(catalog.name, catalog);
    this.#seen = through;
    return { through, affected: undefined, functions: 0 };
  }

  /** Returns undefined if there are too many, or the last known one is not there: a dump was restored. */
  async #eventsSince(seen: number): Promise<Event[] | undefined> {
    const [first, ...events] = await this.#store.events(Math.max(seen - 1, 0), MAX_EVENTS + 1);
    if (seen === 0) return first === undefined ? [] : [first, ...events];
    return first?.sequence === seen && events.length < MAX_EVENTS ? events : undefined;
  }

  async #changesBy(events: readonly Event[]): Promise<Omit<Changes, 'through'> | undefined> {
    const affected = new Set<string>();
    const functions = new Map<string, FunctionName>();
    for (const { type, catalog, group, kind } of events) {
      if (type === 'policy.applied' || type === 'access.applied') return undefined;
      if (type === 'catalog.cut') continue;
      if (catalog !== undefined) affected.add(catalog);
      else if (group !== undefined && kind !== undefined)
        functions.set(functionKey({ group, kind }), { group, kind });
      else return undefined;
    }
    if (functions.size === 0) return { affected, functions: 0 };
    const names = [...functions.values()];
    const combined = [...this.#recipes].flatMap(([name, recipe]) =>
      recipe === undefined || hasUpstreams(recipe) ? [name] : [],
    );
    for (const name of await this.#store.catalogsNaming(names, combined))
      if (this.#recipes.has(name)) affected.add(name);
    const records = await this.#store.functions(names);
    for (const [name, recipe] of this.#recipes) {
      if (affected.has(name)) continue;
      const selects =
        recipe === undefined ||
        records.some((one) => one.releases.some((release) => isCandidate(recipe, one, release)));
      if (selects) affected.add(name);
    }
    return { affected, functions: functions.size };
  }
}

/** Returns undefined for a recipe that another version of the program applied: its build reports why. */
function readableRecipe(catalog: CatalogRecord): Recipe | undefined {
  try {
    return storedRecipe(catalog);
  } catch {
    return undefined;
  }
}
