import { type CatalogRecord, type Recipe, readRecipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';

/** A recipe was checked when it was applied; one that this program refuses now was applied by another version. */
export function storedRecipe({ name, recipe: text }: Pick<CatalogRecord, 'name' | 'recipe'>): Recipe {
  const { recipe, diagnostics } = readRecipe(new TextEncoder().encode(text), `${name}.yaml`);
  if (recipe !== undefined) return recipe;
  throw new KrmhubError('invalid-document', `The stored recipe of ${name} is not understood`, {
    diagnostics,
  });
}
