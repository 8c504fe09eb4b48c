import type { CatalogDetail } from '@krmhub/api/model';
import type { CatalogRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { snapshotSummary } from '../http/presentation.js';
import { storedRecipe } from './stored-recipe.js';

/** Converts a catalog to its model of the HTTP API. */
export function catalogDetail(catalog: CatalogRecord): CatalogDetail {
  const { name, recipe, appliedAt, appliedBy, newest } = catalog;
  return {
    name,
    ...defined({ description: catalogDescription(catalog) }),
    recipe,
    appliedAt,
    appliedBy,
    ...defined({ newest: newest === undefined ? undefined : snapshotSummary(newest) }),
  };
}

/** Returns the description in a stored recipe; undefined also if this version of the program rejects the recipe. */
function catalogDescription(catalog: Pick<CatalogRecord, 'name' | 'recipe'>): string | undefined {
  if (!catalog.recipe.includes('description')) return undefined;
  try {
    return storedRecipe(catalog).description;
  } catch {
    return undefined;
  }
}
