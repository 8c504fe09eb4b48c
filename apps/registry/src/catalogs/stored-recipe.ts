import { type CatalogRecord, type Recipe, readRecipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';

/** Recipes that were read last, by their text: every look at a source and every cut asks for one. */
const lastRead = new Map<string, Recipe>();
const MAX_CACHED = 16;

/** A recipe was checked when it was applied; one that this program refuses now was applied by another version. */
export function storedRecipe({ name, recipe: text }: Pick<CatalogRecord, 'name' | 'recipe'>): Recipe {
  const known = lastRead.get(text);
  if (known !== undefined) return known;
  const { recipe, diagnostics } = readRecipe(new TextEncoder().encode(text), `${name}.yaml`);
  if (recipe !== undefined) {
    lastRead.set(text, recipe);
    if (lastRead.size > MAX_CACHED) lastRead.delete(lastRead.keys().next().value!);
    return recipe;
  }
  throw new KrmhubError('invalid-document', `cannot read the stored recipe of catalog ${name}`, {
    diagnostics,
  });
}
