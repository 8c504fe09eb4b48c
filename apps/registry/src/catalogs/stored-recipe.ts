import { type CatalogRecord, type Recipe, readRecipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { LRUCache } from 'lru-cache';

/** Recently read recipes by their text: every sync and every build needs one, and some requests need those of all. */
const lastRead = new LRUCache<string, Recipe>({
  maxSize: 2_097_152,
  sizeCalculation: (_, text) => text.length + 1,
});

/** Parses a stored recipe. It was valid when it was applied; throws if this version of the program rejects it. */
export function storedRecipe({ name, recipe: text }: Pick<CatalogRecord, 'name' | 'recipe'>): Recipe {
  const known = lastRead.get(text);
  if (known !== undefined) return known;
  const { recipe, diagnostics } = readRecipe(new TextEncoder().encode(text), `${name}.yaml`);
  if (recipe !== undefined) {
    lastRead.set(text, recipe);
    return recipe;
  }
  throw new KrmhubError('invalid-document', `cannot read the stored recipe of catalog ${name}`, {
    diagnostics,
  });
}
