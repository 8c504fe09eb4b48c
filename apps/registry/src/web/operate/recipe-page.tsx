import type { CatalogDetail, Diagnostic } from '@krmhub/api/model';
import type { RecipeState } from '../../catalogs/apply-recipe.js';
import { catalogPath, RECIPES, recipePath, sourcesPath } from '../addresses.js';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { visibleText } from '../visible-text.js';
import { ActionForm } from './action-form.js';
import { missingChangeScopes, useOperator } from './operator.js';
import { RecipeDiagnostics } from './recipe-diagnostics.js';

/** Result of a submitted recipe. */
export type RecipeOutcome =
  /** It was only checked, and is valid. */
  | { is: 'checked'; would: 'create' | 'change' | 'leave' }
  | { is: 'refused'; message: string; hint?: string | undefined }
  /** Concurrent update: another recipe was applied meanwhile. */
  | { is: 'conflict' }
  /** The form was of an earlier session. */
  | { is: 'stale' }
  | { is: 'applied' };

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
  const lacking = missingChangeScopes(useOperator());
  const mayApply = lacking === undefined && !isBuiltIn;
  return (
    <>
      <h1>Recipe of {name}</h1>
      <p>
        {catalog === undefined ? (
          'This catalog does not exist yet. To create it, apply the recipe.'
        ) : (
          <>
            Applied <Time at={catalog.appliedAt} isPrecise /> by <Text value={catalog.appliedBy} max={100} />.{' '}
            <a href={at(catalogPath(name))}>Catalog</a>,{' '}
            <a href={at(sourcesPath({ catalog: name }))}>sources</a>, <a href={at(RECIPES)}>all recipes</a>
          </>
        )}
      </p>
      {isBuiltIn ? (
        <Banner title="You cannot change this catalog: it is built in">
          <p>Apply a recipe under another name.</p>
        </Banner>
      ) : lacking === undefined ? null : (
        <Banner title="Read-only access">
          <p>
            To apply a recipe, you need the scope <code>admin</code> for all groups. Your token does not have{' '}
            <Text value={lacking} />.
          </p>
        </Banner>
      )}
      {outcome === undefined ? null : <Outcome outcome={outcome} />}
      {outcome?.is === 'conflict' ? (
        <section aria-labelledby="stored">
          <h2 id="stored">Current recipe</h2>
          <pre tabindex={0}>
            <code>{catalog === undefined ? 'None.' : visibleText(catalog.recipe)}</code>
          </pre>
          <h2>Yours</h2>
        </section>
      ) : null}
      <RecipeDiagnostics diagnostics={diagnostics} text={text} />
      {mayApply ? (
        <ActionForm action={recipePath(name)} class="editor">
          <input type="hidden" name="expected" value={expected} />
          <label for="recipe">Recipe, YAML</label>
          {/* HTML parsers drop a line end at the start of a text area. */}
          <textarea
            id="recipe"
            name="text"
            rows={rowsFor(text)}
            spellcheck={false}
            autocapitalize="none"
            autocomplete="off"
            wrap="off"
            dir="ltr"
          >
            {`\n${text}`}
          </textarea>
          <div class="buttons">
            <button type="submit" name="do" value="check" class="button-plain">
              Check only
            </button>
            <button type="submit" name="do" value="apply">
              {outcome?.is === 'conflict' ? 'Replace it with my recipe' : 'Apply'}
            </button>
          </div>
        </ActionForm>
      ) : (
        <pre tabindex={0}>
          <code>{visibleText(text)}</code>
        </pre>
      )}
    </>
  );
}

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
    case 'conflict':
      return (
        <Banner tone="warning" title="The recipe has changed since you started">
          <p>Nothing was changed. Compare both recipes, then apply your recipe again.</p>
        </Banner>
      );
    case 'stale':
      return (
        <Banner tone="warning" title="Not applied yet">
          <p>You signed in again after you opened this form. Check the form, and submit it again.</p>
        </Banner>
      );
    case 'refused':
      return (
        <Banner tone="danger" title="Nothing was changed">
          <p>
            <Text value={`${outcome.message}.`} max={2_000} />
          </p>
          {outcome.hint === undefined ? null : (
            <p>
              <Text value={outcome.hint} max={500} />
            </p>
          )}
        </Banner>
      );
  }
}

const WOULD = {
  create: 'If you apply it, the registry creates the catalog.',
  change: 'If you apply it, it replaces the current recipe.',
  leave: 'It is identical to the current recipe.',
} as const;

function rowsFor(text: string): number {
  return Math.min(Math.max(text.split('\n').length + 2, 16), 40);
}
