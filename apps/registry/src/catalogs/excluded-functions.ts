import {
  type AccessRules,
  ANONYMOUS,
  type CatalogEntryRow,
  type CatalogReader,
  type CatalogRecord,
  catalogReaders,
  describeSnapshots,
  type FunctionCandidates,
  type FunctionReader,
  functionCandidates,
  functionKey,
  hasUpstreams,
  isEmptySelection,
  NO_UPSTREAMS,
  type SourceReader,
  selectFunction,
} from '@krmhub/catalog';
import { currentActor } from '../http/auth/request-actor.js';
import { storedRecipe } from './stored-recipe.js';

interface ExcludedDeps {
  /** As the actor of a request sees it. */
  store: FunctionReader & CatalogReader & SourceReader;
  rules: AccessRules;
}

/**
 * Returns what the recipe of a catalog selects and the build leaves out because of its visibility, as rows of a report,
 * as far as the actor of the request may read it. The stored report has nothing of it: more actors read that one.
 */
export async function excludedFunctions(
  { store, rules }: ExcludedDeps,
  catalog: CatalogRecord,
): Promise<CatalogEntryRow[]> {
  // What an anonymous client may read is public, and every catalog may contain that.
  if (!rules.hidesAnything || currentActor() === ANONYMOUS) return [];
  const recipe = storedRecipe(catalog);
  const mayContain = catalogReaders(rules, catalog.name);
  const readers = rules.catalogVisibility(catalog.name);
  const rows = new Map<string, CatalogEntryRow>();
  const included = await store.includedFunctions(catalog.name);
  const ranges = new Map(included.map((fn) => [functionKey(fn), fn]));
  const add = (candidates: FunctionCandidates | undefined) => {
    if (candidates === undefined || mayContain(candidates)) return;
    const visibility = rules.visibilityOf(candidates.group, candidates.kind);
    const why =
      readers === visibility
        ? `the function is ${visibility}, and a team with a grant on the catalog may not read it`
        : `the function is ${visibility}, and the catalog is ${readers}`;
    const older = ranges.get(functionKey(candidates));
    const excludedBy = older === undefined ? why : `${why}; ${describeSnapshots(older)} it`;
    const row = selectFunction(recipe, candidates, { ...NO_UPSTREAMS, policies: [], excludedBy });
    if (!isEmptySelection(row)) rows.set(functionKey(row), row);
  };
  for await (const fn of store.allFunctions()) add(functionCandidates(recipe, fn, new Map()));
  if (!hasUpstreams(recipe)) return [...rows.values()];
  for await (const { group, kind, candidates } of store.allUpstreamCandidates(catalog.name)) {
    if (!rows.has(functionKey({ group, kind }))) add(functionCandidates(recipe, undefined, candidates));
  }
  return [...rows.values()];
}
