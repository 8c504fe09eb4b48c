import { fillPath } from '@krmhub/api/paths';
import type { CatalogRecord } from '@krmhub/catalog';
import { CopyYaml } from '../parts/copy-snippet.js';
import { useSite } from '../site.js';
import { cutText } from '../visible-text.js';

/** Maximum number of characters of a recipe on the page of its catalog. */
const MAX_RECIPE = 16_000;

export function RecipeSection({ catalog: { name, recipe } }: { catalog: CatalogRecord }) {
  const { at } = useSite();
  return (
    <section aria-labelledby="recipe">
      <h2 id="recipe">Recipe</h2>
      <CopyYaml
        label="Recipe"
        caption="The registry builds the catalog from this recipe."
        text={cutText(recipe, MAX_RECIPE)}
      />
      {recipe.length > MAX_RECIPE ? (
        <p>
          Only the beginning is shown.{' '}
          <a href={at(fillPath('catalog', { name }))}>The whole recipe as JSON</a>
        </p>
      ) : null}
    </section>
  );
}
