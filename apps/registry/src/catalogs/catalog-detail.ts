import type { CatalogDetail } from '@krmhub/api/model';
import type { CatalogRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { KnownAccess } from '../http/auth/request-actor.js';
import { snapshotSummary } from '../http/presentation.js';
import { seenRecipe } from './seen-recipe.js';

/** Converts a catalog to its model of the HTTP API, as the actor of the request may know it. */
export function catalogDetail({ access }: { access: KnownAccess }, catalog: CatalogRecord): CatalogDetail {
  const { name, appliedAt, appliedBy, newest } = catalog;
  const { text, recipe } = seenRecipe(access, catalog);
  return {
    name,
    ...defined({ description: recipe?.description }),
    recipe: text,
    appliedAt,
    appliedBy,
    ...defined({ newest: newest === undefined ? undefined : snapshotSummary(newest) }),
  };
}
