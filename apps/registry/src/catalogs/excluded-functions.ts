import {
  type AccessRules,
  ANONYMOUS,
  type CatalogEntryRow,
  type CatalogReader,
  type CatalogRecord,
  catalogReaders,
  type FunctionCandidates,
  type FunctionReader,
  functionCandidates,
  functionKey,
  isEmptySelection,
  NO_UPSTREAMS,
  type SnapshotRange,
  type SourceReader,
  selectFunction,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { currentActor } from '../http/auth/request-actor.js';
import { storedRecipe } from './stored-recipe.js';

interface ExcludedDeps {
  /** As the actor of a request sees it. */
  store: Pick<FunctionReader, 'allFunctions'> &
    Pick<CatalogReader, 'snapshotsContaining'> &
    Pick<SourceReader, 'allUpstreamCandidates'>;
  rules: AccessRules;
}

/**
 * Returns what the recipe of a catalog selects and the build leaves out because of its visibility, as rows of a report,
 * as far as the actor of the request may read it. The stored report has nothing of it: more actors read that one.
 */
export async function excludedFunctions(
  { store, rules }: ExcludedDeps,
  catalog: Pick<CatalogRecord, 'name' | 'recipe'>,
): Promise<CatalogEntryRow[]> {
  // What an anonymous client may read is public, and every catalog may contain that.
  if (!rules.hidesAnything || currentActor() === ANONYMOUS) return [];
  const recipe = storedRecipe(catalog);
  const mayContain = catalogReaders(rules, catalog.name);
  const readers = rules.catalogVisibility(catalog.name);
  const rows = new Map<string, CatalogEntryRow>();
  const add = async (candidates: FunctionCandidates | undefined) => {
    if (candidates === undefined || mayContain(candidates)) return;
    const visibility = rules.visibilityOf(candidates.group, candidates.kind);
    const why =
      readers === visibility
        ? `the function is ${visibility}, and a team with a grant on the catalog may not read it`
        : `the function is ${visibility}, and the catalog is ${readers}`;
    const found = await store.snapshotsContaining(candidates.group, candidates.kind);
    const older = found.find((range) => range.catalog === catalog.name);
    const excludedBy = older === undefined ? why : `${why}; ${describeRange(older)} it`;
    const row = selectFunction(recipe, candidates, { ...NO_UPSTREAMS, policies: [], excludedBy });
    if (!isEmptySelection(row)) rows.set(functionKey(row), row);
  };
  for await (const fn of store.allFunctions()) await add(functionCandidates(recipe, fn, new Map()));
  if (!recipe.sources.some((source) => source.catalog !== undefined)) return [...rows.values()];
  for await (const { group, kind, candidates } of store.allUpstreamCandidates(catalog.name)) {
    if (!rows.has(functionKey({ group, kind }))) await add(functionCandidates(recipe, undefined, candidates));
  }
  return [...rows.values()];
}

function describeRange({ from, to }: SnapshotRange): string {
  return from === to ? `snapshot ${from} still contains` : `snapshots from ${from} to ${to} still contain`;
}

export interface ExposedFunction extends FunctionName {
  /** The snapshots whose readers may not all read the function. */
  snapshots: SnapshotRange[];
}

/**
 * Returns the functions that snapshots show to readers who may not read them by these rules, for example because a
 * function became private: builds leave it out from then on, and older snapshots stay as they are.
 */
export async function exposedFunctions(
  store: Pick<FunctionReader, 'allFunctions'> &
    Pick<CatalogReader, 'catalogs' | 'snapshotsContaining'> &
    Pick<SourceReader, 'allUpstreamCandidates'>,
  rules: AccessRules,
): Promise<ExposedFunction[]> {
  const catalogs = (await store.catalogs()).map(({ name }) => name);
  const mayContain = new Map(catalogs.map((name) => [name, catalogReaders(rules, name)]));
  const hidden = new Map<string, FunctionName>();
  const add = ({ group, kind }: FunctionName) => {
    if (rules.visibilityOf(group, kind) === 'public') return;
    const key = `${group}/${kind.toLowerCase()}`;
    if (!hidden.has(key)) hidden.set(key, { group, kind });
  };
  for await (const fn of store.allFunctions()) add(fn);
  for (const name of catalogs) for await (const fn of store.allUpstreamCandidates(name)) add(fn);
  const exposed: ExposedFunction[] = [];
  for (const name of hidden.values()) {
    const found = await store.snapshotsContaining(name.group, name.kind);
    const snapshots = found.filter(({ catalog }) => mayContain.get(catalog)?.(name) === false);
    if (snapshots.length > 0) exposed.push({ ...name, snapshots });
  }
  return exposed;
}
