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

/** What came of a recipe that was sent. */
export type RecipeOutcome =
  /** It was only checked: nothing is wrong that would refuse it. */
  | { is: 'checked'; would: 'create' | 'change' | 'leave' }
  | { is: 'refused'; message: string; hint?: string | undefined }
  /** Others have applied another one meanwhile. */
  | { is: 'conflict' }
  /** The form was of an earlier session. */
  | { is: 'stale' }
  | { is: 'applied' };

export interface RecipePageData {
  name: string;
  isBuiltIn: boolean;
  /** As it is stored; absent where there is no such catalog. */
  catalog?: CatalogDetail | undefined;
  /** What stands in the editor. */
  text: string;
  /** What is stored where the text began. */
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
          'There is no such catalog yet: applying the recipe makes it.'
        ) : (
          <>
            Applied <Time at={catalog.appliedAt} isPrecise /> by <Text value={catalog.appliedBy} max={100} />.{' '}
            <a href={at(catalogPath(name))}>Catalog</a>,{' '}
            <a href={at(sourcesPath({ catalog: name }))}>sources</a>, <a href={at(RECIPES)}>all recipes</a>
          </>
        )}
      </p>
      {isBuiltIn ? (
        <Banner title="It is built in and cannot be changed">
          <p>Apply a recipe under another name.</p>
        </Banner>
      ) : lacking === undefined ? null : (
        <Banner title="You may read it, and not change it">
          <p>
            Applying a recipe needs the scope <code>admin</code> for every group; your token lacks{' '}
            <Text value={lacking} />.
          </p>
        </Banner>
      )}
      {outcome === undefined ? null : <Outcome outcome={outcome} />}
      {outcome?.is === 'conflict' ? (
        <section aria-labelledby="stored">
          <h2 id="stored">As it stands now</h2>
          <pre tabindex={0}>
            <code>{catalog === undefined ? 'There is none.' : visibleText(catalog.recipe)}</code>
          </pre>
          <h2>Yours</h2>
        </section>
      ) : null}
      <RecipeDiagnostics diagnostics={diagnostics} text={text} />
      {mayApply ? (
        <ActionForm action={recipePath(name)} class="editor">
          <input type="hidden" name="expected" value={expected} />
          <label for="recipe">Recipe, YAML</label>
          {/* A line end at the beginning is taken off by whoever reads the page. */}
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
              {outcome?.is === 'conflict' ? 'Apply mine in its place' : 'Apply'}
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
        <Banner tone="good" title="The recipe stands">
          <p>The catalog is cut by it as soon as its sources were asked.</p>
        </Banner>
      );
    case 'checked':
      return (
        <Banner tone="good" title="Nothing refuses it">
          <p>{WOULD[outcome.would]} Nothing was changed by checking it.</p>
        </Banner>
      );
    case 'conflict':
      return (
        <Banner tone="warning" title="Somebody else has applied another recipe since you began">
          <p>Nothing was changed. Compare both, and apply yours where it is still right.</p>
        </Banner>
      );
    case 'stale':
      return (
        <Banner tone="warning" title="Nothing was done yet">
          <p>You have signed in anew since you opened this form. Look it over and send it again.</p>
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
  create: 'Applying it would make the catalog.',
  change: 'Applying it would replace the recipe that stands.',
  leave: 'It is the recipe that stands already.',
} as const;

function rowsFor(text: string): number {
  return Math.min(Math.max(text.split('\n').length + 2, 16), 40);
}
