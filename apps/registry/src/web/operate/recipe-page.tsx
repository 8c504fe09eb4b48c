import type { CatalogDetail, Diagnostic } from '@krmhub/api/model';
import type { RecipeState } from '../../catalogs/apply-recipe.js';
import { catalogPath, RECIPES, recipePath, sourcesPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { DocumentBanner, DocumentEditor, type DocumentOutcome } from './document-editor.js';

/** Result of a submitted recipe. */
export type RecipeOutcome =
  /** It was only checked, and is valid. */
  { is: 'checked'; would: 'create' | 'change' | 'leave' } | { is: 'applied' } | DocumentOutcome;

export interface RecipePageData {
  name: string;
  isBuiltIn: boolean;
  /** The stored catalog; absent if it does not exist. */
  catalog?: CatalogDetail | undefined;
  /** Text in the editor. */
  text: string;
  /** The stored state when the edit began. */
  expected: RecipeState;
  diagnostics: readonly Diagnostic[];
  outcome?: RecipeOutcome | undefined;
}

export function RecipePage({ shown }: { shown: RecipePageData }) {
  const { at } = useSite();
  const { name, isBuiltIn, catalog, text, expected, diagnostics, outcome } = shown;
  return (
    <>
      <h1>Recipe of {name}</h1>
      <p>
        {catalog === undefined ? (
          'This catalog does not exist yet. To create it, apply the recipe.'
        ) : (
          <>
            Applied <Time at={catalog.appliedAt} /> by <Text value={catalog.appliedBy} max={100} />.{' '}
            <a href={at(catalogPath(name))}>Catalog</a>,{' '}
            <a href={at(sourcesPath({ catalog: name }))}>sources</a>, <a href={at(RECIPES)}>all recipes</a>
          </>
        )}
      </p>
      <DocumentEditor
        {...{ text, expected, diagnostics, outcome }}
        noun="recipe"
        label="Recipe, YAML"
        action={recipePath(name)}
        stored={catalog?.recipe}
        fixed={isBuiltIn ? BUILT_IN : undefined}
        banner={outcome === undefined ? null : <Outcome outcome={outcome} />}
      />
    </>
  );
}

const BUILT_IN = (
  <Banner title="You cannot change this catalog: it is built in">
    <p>Apply a recipe under another name.</p>
  </Banner>
);

function Outcome({ outcome }: { outcome: RecipeOutcome }) {
  switch (outcome.is) {
    case 'applied':
      return (
        <Banner tone="good" title="Recipe applied">
          <p>The registry builds the catalog after it syncs the sources.</p>
        </Banner>
      );
    case 'checked':
      return (
        <Banner tone="good" title="The recipe is valid">
          <p>{WOULD[outcome.would]} Checking changed nothing.</p>
        </Banner>
      );
    default:
      return <DocumentBanner noun="recipe" outcome={outcome} />;
  }
}

const WOULD = {
  create: 'If you apply it, the registry creates the catalog.',
  change: 'If you apply it, it replaces the current recipe.',
  leave: 'It is identical to the current recipe.',
} as const;
