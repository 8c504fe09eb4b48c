import type { EntryReader, FunctionReader, SearchResult, SearchStore } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';

/** Returns the functions that the operator chose, in that order, as search knows them. */
export async function findHighlights(
  store: SearchStore,
  names: readonly FunctionName[],
): Promise<SearchResult[]> {
  const found: SearchResult[] = [];
  for (const { group, kind } of names) {
    const { items } = await store.search({ group: [group], kind: [kind], limit: 1 });
    found.push(...items.filter(({ yanked }) => !yanked));
  }
  return found;
}

/** Returns the chosen functions that neither this registry nor a catalog has. */
export async function unknownHighlights(
  store: FunctionReader & EntryReader,
  names: readonly FunctionName[],
): Promise<FunctionName[]> {
  const unknown: FunctionName[] = [];
  for (const name of names) {
    const { group, kind } = name;
    if ((await store.function(group, kind)) !== undefined) continue;
    if ((await store.servedEntries(group, kind)).length === 0) unknown.push(name);
  }
  return unknown;
}
