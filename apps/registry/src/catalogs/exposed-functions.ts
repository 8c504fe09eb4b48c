import {
  type AccessRules,
  type CatalogReader,
  catalogReaders,
  type FunctionReader,
  type SnapshotRange,
  type SourceReader,
} from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';

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
