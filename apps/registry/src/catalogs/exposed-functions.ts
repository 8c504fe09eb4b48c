import { type AccessRules, type CatalogReader, catalogReaders, type IncludedFunction } from '@krmhub/catalog';

/** A function that snapshots of a catalog show to readers who may not read it. */
export interface ExposedFunction extends IncludedFunction {
  catalog: string;
}

/**
 * Returns the functions that a change of access hides from readers of a catalog, although snapshots of it contain them:
 * builds leave them out from then on, and older snapshots stay as they are, also those of a deleted catalog that is restored
 * later.
 */
export async function exposedFunctions(
  store: CatalogReader,
  before: AccessRules,
  after: AccessRules,
): Promise<ExposedFunction[]> {
  const exposed: ExposedFunction[] = [];
  if (!after.hidesAnything) return exposed;
  for (const { name: catalog } of [...(await store.catalogs()), ...(await store.deletedCatalogs())]) {
    const could = catalogReaders(before, catalog);
    const may = catalogReaders(after, catalog);
    for (const fn of await store.includedFunctions(catalog)) {
      if (could(fn) && !may(fn)) exposed.push({ catalog, ...fn });
    }
  }
  return exposed;
}
