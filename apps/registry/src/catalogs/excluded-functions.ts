import {
  type AccessRules,
  type CatalogEntryRow,
  type CatalogRecord,
  catalogReaders,
  type FunctionCandidates,
  type FunctionReader,
  functionCandidates,
  functionKey,
  isEmptySelection,
  NO_UPSTREAMS,
  type SourceStore,
  selectFunction,
} from '@krmhub/catalog';
import { storedRecipe } from './stored-recipe.js';

interface ExcludedDeps {
  /** As the actor of a request sees it. */
  store: Pick<FunctionReader, 'allFunctions'> & Pick<SourceStore, 'allUpstreamCandidates'>;
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
  if (!rules.hidesAnything) return [];
  const recipe = storedRecipe(catalog);
  const mayContain = catalogReaders(rules, catalog.name);
  const readers = rules.catalogVisibility(catalog.name);
  const rows = new Map<string, CatalogEntryRow>();
  const add = (candidates: FunctionCandidates | undefined) => {
    if (candidates === undefined || mayContain(candidates)) return;
    const visibility = rules.visibilityOf(candidates.group, candidates.kind);
    const excludedBy =
      readers === visibility
        ? `the function is ${visibility}, and a team with a grant on the catalog may not read it`
        : `the function is ${visibility}, and the catalog is ${readers}`;
    const row = selectFunction(recipe, candidates, { ...NO_UPSTREAMS, policies: [], excludedBy });
    if (!isEmptySelection(row)) rows.set(functionKey(row), row);
  };
  for await (const fn of store.allFunctions()) add(functionCandidates(recipe, fn, new Map()));
  if (!recipe.sources.some((source) => source.catalog !== undefined)) return [...rows.values()];
  for await (const { group, kind, candidates } of store.allUpstreamCandidates(catalog.name)) {
    if (!rows.has(functionKey({ group, kind }))) add(functionCandidates(recipe, undefined, candidates));
  }
  return [...rows.values()];
}
