import {
  type CatalogRecord,
  type EventStore,
  type FunctionReader,
  hasUpstreams,
  type SourceReader,
  type SourceRecord,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../limits.js';
import { storedRecipe } from '../stored-recipe.js';
import { type BuildState, lacksSegments, waitsForSource } from './build-snapshot.js';

/** Events of snapshots after which a catalog is built through them, so that they are not read again. */
const MAX_SNAPSHOT_EVENTS = 100;

type DueStore = EventStore & FunctionReader;

export interface DueBuild {
  /** Whether it handles or hashes so many functions that others must not wait for it. */
  isLarge: boolean;
  state: BuildState;
}

/** Returns the build of a catalog through an event; undefined if it would change nothing. */
export async function dueBuild(
  store: DueStore,
  catalog: CatalogRecord,
  { sources, through }: { sources: readonly SourceRecord[]; through: number },
): Promise<DueBuild | undefined> {
  const { name, throughEvent } = catalog;
  const state: BuildState = { throughEvent: through, catalog, sources };
  if (throughEvent === 0) return { isLarge: await isLarge(store, catalog, { sources }), state };
  const changed = await store.changedFunctions(throughEvent, through, name);
  if (changed.length === 0 && (await hasOnlyNewSnapshots(store, catalog))) return undefined;
  return { isLarge: await isLarge(store, catalog, { sources, changed }), state: { ...state, changed } };
}

/**
 * Returns the sources of a catalog, and whether it waits for one of them. Most recipes have none that are upstream
 * catalogs, and so no rows of them.
 */
export async function readSources(
  store: SourceReader,
  catalog: CatalogRecord,
): Promise<{ sources: SourceRecord[]; isWaiting: boolean }> {
  const sources = mayHaveSources(catalog) ? await store.sources(catalog.name) : [];
  return { sources, isWaiting: waitsForSource(sources) };
}

function mayHaveSources(catalog: CatalogRecord): boolean {
  try {
    return hasUpstreams(storedRecipe(catalog));
  } catch {
    // The build reports it.
    return true;
  }
}

/**
 * Reports whether snapshots are the only events since the last build, most often its own: another build would store
 * nothing but their number.
 */
async function hasOnlyNewSnapshots(
  store: EventStore,
  { newest, throughEvent }: CatalogRecord,
): Promise<boolean> {
  if (newest === undefined || newest.withdrawn !== undefined || lacksSegments(newest)) return false;
  const since = await store.events(throughEvent, MAX_SNAPSHOT_EVENTS);
  return since.length < MAX_SNAPSHOT_EVENTS && since.every(({ type }) => type === 'catalog.cut');
}

/** Without `changed`, all functions may have changed. */
async function isLarge(
  store: FunctionReader,
  { newest }: CatalogRecord,
  { sources, changed }: { sources: readonly SourceRecord[]; changed?: readonly FunctionName[] },
): Promise<boolean> {
  if ((newest?.functions ?? 0) >= SERVER_LIMITS.largeCatalogFunctions) return true;
  const functions =
    changed?.length ??
    sources.reduce((sum, { copy }) => sum + (copy?.entries ?? 0), await store.countFunctions());
  return functions > SERVER_LIMITS.maxSmallBuildFunctions;
}
