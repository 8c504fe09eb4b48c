import type { CatalogDetail, CatalogTombstone } from '@krmhub/api/model';
import type { ReadyRecipe } from '@krmhub/sources/ready-recipes';
import { READY_RECIPES, RECIPES, recipePath, sourcesPath } from '../addresses.js';
import { Label } from '../parts/label.js';
import { Pages } from '../parts/pages.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import { ActionForm } from './action-form.js';
import { Field } from './field.js';
import { missingChangeScopes, useOperator } from './operator.js';
import type { Paged } from './paged.js';

export interface RecipesPageData {
  catalogs: Paged<CatalogDetail & { isBuiltIn: boolean; sources: number }>;
  deleted: readonly CatalogTombstone[];
  /** Why catalogs cannot be built, by catalog name. */
  failing: ReadonlyMap<string, string>;
  /** Recipes of krmhub whose names are free. */
  ready: readonly ReadyRecipe[];
}

export function RecipesPage({ shown: { catalogs, deleted, failing, ready } }: { shown: RecipesPageData }) {
  const { at } = useSite();
  return (
    <>
      <h1>Recipes</h1>
      <p class="lead">A recipe lists the sources of its catalog and sets its policy.</p>
      <ul class="operate-list">
        {catalogs.items.map(({ name, appliedAt, appliedBy, newest, isBuiltIn, sources }) => (
          <li>
            <div class="operate-head">
              <h2>
                <a href={at(recipePath(name))}>{name}</a>
              </h2>
              {isBuiltIn ? <Label>built in</Label> : null}
              {failing.has(name) ? <Label tone="danger">build fails</Label> : null}
            </div>
            {failing.has(name) ? (
              <p>
                <Text value={failing.get(name) ?? ''} max={500} />
              </p>
            ) : null}
            <ul class="found-facts">
              <li>
                applied <Time at={appliedAt} /> by <Text value={appliedBy} max={100} />
              </li>
              {newest === undefined ? (
                <li>not built yet</li>
              ) : (
                <li>
                  snapshot {newest.serial}, {newest.functions.toLocaleString('en')}{' '}
                  {newest.functions === 1 ? 'function' : 'functions'}
                </li>
              )}
              {sources === 0 ? null : (
                <li>
                  <a href={at(sourcesPath({ catalog: name }))}>
                    {sources} upstream {sources === 1 ? 'source' : 'sources'}
                  </a>
                </li>
              )}
            </ul>
          </li>
        ))}
      </ul>
      <Pages
        first={catalogs.page === 1 ? undefined : RECIPES}
        next={catalogs.hasNext ? `${RECIPES}?page=${catalogs.page + 1}` : undefined}
      />
      {deleted.length === 0 ? null : <DeletedCatalogs deleted={deleted} />}
      {ready.length === 0 ? null : <ReadyRecipes recipes={ready} />}
      {missingChangeScopes(useOperator()) === undefined ? <CreateForm /> : null}
    </>
  );
}

function CreateForm() {
  const { at } = useSite();
  return (
    <>
      <h2>Create a catalog</h2>
      <form class="form" action={at(RECIPES)}>
        <Field
          field="name"
          label="Name"
          required
          maxlength={63}
          pattern="[a-z0-9]([\-a-z0-9]{0,61}[a-z0-9])?"
          autocapitalize="none"
          spellcheck={false}
        >
          Lower-case letters, digits, and inner hyphens. When you apply its recipe, the registry creates the
          catalog.
        </Field>
        <button type="submit">Write the recipe</button>
      </form>
    </>
  );
}

function ReadyRecipes({ recipes }: { recipes: readonly ReadyRecipe[] }) {
  const { at } = useSite();
  const lacking = missingChangeScopes(useOperator());
  return (
    <>
      <h2 id={READY_RECIPES}>Import a public catalog</h2>
      <p>
        The registry fetches these catalogs from the Internet, and syncs them every day. Their entries are
        imported, and not signed by their authors.
      </p>
      <ul class="operate-list">
        {recipes.map(({ name, summary, text }) => (
          <li>
            <div class="operate-head">
              <h3>
                <a href={at(recipePath(name))}>{name}</a>
              </h3>
            </div>
            <p>{summary}</p>
            {lacking === undefined ? (
              <ActionForm action={recipePath(name)} class="form">
                <input type="hidden" name="text" value={text} />
                <input type="hidden" name="expected" value="none" />
                <button type="submit" name="do" value="apply" aria-label={`Import ${name}`}>
                  Import
                </button>
              </ActionForm>
            ) : null}
          </li>
        ))}
      </ul>
    </>
  );
}

function DeletedCatalogs({ deleted }: Pick<RecipesPageData, 'deleted'>) {
  return (
    <>
      <h2>Deleted catalogs</h2>
      <p>Their names stay reserved. To restore one, use the command line.</p>
      <ul class="operate-list">
        {deleted.map(({ name, at, by, reason, restorableUntil, purgedAt }) => (
          <li>
            <div class="operate-head">
              <h3>{name}</h3>
            </div>
            <p>
              <Text value={reason} max={500} />
            </p>
            <ul class="found-facts">
              <li>
                deleted <Time at={at} /> by <Text value={by} max={100} />
              </li>
              <li>
                {purgedAt === undefined ? (
                  <>
                    until <Time at={restorableUntil} />: <code>krmhub catalog restore {name}</code>
                  </>
                ) : (
                  'its data is deleted'
                )}
              </li>
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}
