import { fillPath } from '@krmhub/api/paths';
import type { CatalogRecord } from '@krmhub/catalog';
import { CopySnippet } from '../parts/copy-snippet.js';
import { useSite } from '../site.js';
import { cutText, visibleText } from '../visible-text.js';

/** Characters of a recipe that its catalog's page shows. */
const MAX_RECIPE = 16_000;

export function RecipeSection({
  catalog: { name, recipe },
}: {
  catalog: Pick<CatalogRecord, 'name' | 'recipe'>;
}) {
  const { at } = useSite();
  return (
    <section aria-labelledby="recipe">
      <h2 id="recipe">Recipe</h2>
      <p>What the catalog is made from, as it was applied.</p>
      <CopySnippet label="Recipe" code={visibleText(cutText(recipe, MAX_RECIPE))} />
      {recipe.length > MAX_RECIPE ? (
        <p>
          This is its beginning. <a href={at(fillPath('catalog', { name }))}>All of it, as JSON</a>
        </p>
      ) : null}
    </section>
  );
}
