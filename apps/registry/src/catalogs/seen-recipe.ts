import { type CatalogRecord, type Recipe, readsRecipe } from '@krmhub/catalog';
import { currentActor, type KnownAccess } from '../http/auth/request-actor.js';
import { sightOf } from '../store/sight.js';
import { storedRecipe } from './stored-recipe.js';

/** Instead of a recipe that names what the actor of a request may not read. */
const HIDDEN = '# The recipe names groups or functions that you may not read.\n';

/** What the actor of a request may know of the recipe of a catalog. */
export interface SeenRecipe {
  text: string;
  /** Without what it selects, if that is hidden. Absent if this version of the program rejects the recipe. */
  recipe?: Recipe;
}

export function seenRecipe({ rules }: KnownAccess, catalog: CatalogRecord): SeenRecipe {
  const text = catalog.recipe;
  const recipe = understoodRecipe(catalog);
  const actor = currentActor();
  const isSeen =
    !rules.hidesAnything ||
    (recipe === undefined ? sightOf(rules, actor).registry() : readsRecipe(rules, actor, recipe));
  if (isSeen) return recipe === undefined ? { text } : { text, recipe };
  if (recipe === undefined) return { text: HIDDEN };
  const sources = recipe.sources.map(({ match: _, ...source }) => ({ ...source, exclude: [] }));
  return { text: HIDDEN, recipe: { ...recipe, sources } };
}

/** If the stored recipe is invalid, another version applied it. */
function understoodRecipe(catalog: CatalogRecord): Recipe | undefined {
  try {
    return storedRecipe(catalog);
  } catch {
    return undefined;
  }
}
