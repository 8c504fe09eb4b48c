import { createRoute, z } from '@hono/zod-openapi';
import { CatalogName } from '@krmhub/api/parameters';
import type { CatalogReader, SourceReader } from '@krmhub/catalog';
import { RECIPE_LIMITS } from '@krmhub/catalog';
import { isDigest, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type ReadyRecipe, readyRecipes } from '@krmhub/sources/ready-recipes';
import type { ApplyRecipeDeps } from '../../catalogs/apply-recipe.js';
import {
  applyRecipe,
  checkRecipe,
  DEFAULT_CATALOG,
  RecipeChanged,
  type RecipeState,
  recipeState,
  refuseBuiltIn,
} from '../../catalogs/apply-recipe.js';
import type { ObservableBuilder } from '../../catalogs/build/catalog-builder.js';
import { catalogDetail } from '../../catalogs/catalog-detail.js';
import { seenRecipe } from '../../catalogs/seen-recipe.js';
import { recheckToken } from '../../http/auth/authorize.js';
import { callerOf } from '../../http/auth/caller.js';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import { SERVER_LIMITS } from '../../limits.js';
import { RECIPES, recipePath } from '../addresses.js';
import type { Site } from '../site.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { PageNumber } from './page-number.js';
import { paged } from './paged.js';
import type { PrivatePage } from './private-response.js';
import { type RecipeOutcome, RecipePage, type RecipePageData } from './recipe-page.js';
import { RecipesPage } from './recipes-page.js';

const RECIPE = '/operate/recipes/{name}';
const MAX_FORM_BYTES =
  RECIPE_LIMITS.maxBytes * SERVER_LIMITS.formBytesPerTextByte + SERVER_LIMITS.maxFormBytes;

export const RECIPE_ROUTES = {
  recipesPage: createRoute({
    method: 'get',
    path: RECIPES,
    request: { query: z.object({ page: PageNumber, name: CatalogName.optional() }) },
    responses: { 200: { description: 'The recipes of all catalogs' } },
  }),
  recipePage: createRoute({
    method: 'get',
    path: RECIPE,
    request: {
      params: z.object({ name: CatalogName }),
      query: z.object({ applied: z.literal('true', 'is not true').optional() }),
    },
    responses: { 200: { description: 'A form to edit a recipe' } },
  }),
  sendRecipe: createRoute({
    method: 'post',
    path: RECIPE,
    request: { params: z.object({ name: CatalogName }) },
    responses: { 200: { description: 'The result' }, 303: { description: 'Applied' } },
  }),
} as const;

const RecipeForm = z.object({
  text: z.string('is missing'),
  expected: z
    .string('is missing')
    .refine((text): text is RecipeState => text === 'none' || isDigest(text), 'is not a digest'),
  do: z.enum(['check', 'apply'], 'is neither check nor apply'),
});
type RecipeForm = z.output<typeof RecipeForm>;

export type RecipeDeps = ApplyRecipeDeps & {
  store: CatalogReader & SourceReader;
  snapshotBuilder: ObservableBuilder;
  site: Site;
  access: KnownAccess;
};

export function recipeRoutes(deps: RecipeDeps, pages: OperatorPages): void {
  const { store, snapshotBuilder: builder, site } = deps;

  const recipe = async (
    name: string,
    given: Pick<RecipePageData, 'diagnostics' | 'outcome'> & { form?: RecipeForm },
    status?: PrivatePage['status'],
  ): Promise<PrivatePage> => {
    const catalog = await store.catalog(name);
    const { form, diagnostics, outcome } = given;
    const shown = catalog && catalogDetail(deps, catalog);
    const data: RecipePageData = {
      name,
      isBuiltIn: name === DEFAULT_CATALOG,
      catalog: shown,
      text: form?.text ?? shown?.recipe ?? beginning(name),
      // A user who has seen both versions may replace the stored one.
      expected: form === undefined || outcome?.is === 'conflict' ? recipeState(catalog) : form.expected,
      diagnostics,
      outcome,
    };
    return {
      head: { title: `Recipe of ${name}`, path: recipePath(name) },
      body: <RecipePage shown={data} />,
      ...defined({ status }),
    };
  };

  pages.page(RECIPE_ROUTES.recipesPage, {}, async (c, { query: { page, name } }) => {
    if (name !== undefined) return c.redirect(site.at(recipePath(name)), 303);
    const sources = new Map<string, number>();
    for (const { catalog } of await store.sources()) sources.set(catalog, (sources.get(catalog) ?? 0) + 1);
    const catalogs = (await store.catalogs()).map((catalog) => ({
      ...catalogDetail(deps, catalog),
      isBuiltIn: catalog.name === DEFAULT_CATALOG,
      sources: sources.get(catalog.name) ?? 0,
    }));
    const deleted = await store.deletedCatalogs();
    const failing = new Map(builder.status().failing.map(({ catalog, message }) => [catalog, message]));
    return {
      head: { title: 'Recipes', path: RECIPES },
      body: (
        <RecipesPage
          shown={{ catalogs: paged(catalogs, page), deleted, failing, ready: freeRecipes(catalogs, deleted) }}
        />
      ),
    };
  });

  pages.page(RECIPE_ROUTES.recipePage, {}, async (_, { params: { name }, query }) => {
    const stored = query.applied === undefined ? undefined : await store.catalog(name);
    if (stored === undefined) return recipe(name, { diagnostics: [] });
    // Diagnostics of a valid recipe.
    const text = encodeText(seenRecipe(deps.access, stored).text);
    const { diagnostics } = await deps.planner.readRecipe(text, `${name}.yaml`);
    return recipe(name, { diagnostics, outcome: { is: 'applied' } });
  });

  /** Checks or applies a recipe. The typed text is never lost, whatever is wrong with it. */
  pages.action(
    RECIPE_ROUTES.sendRecipe,
    {
      needs: CHANGES,
      form: RecipeForm,
      maxBytes: MAX_FORM_BYTES,
      stale: async (_, { params, form }) =>
        recipe((params as { name: string }).name, { diagnostics: [], form, outcome: { is: 'stale' } }, 403),
    },
    async (c, { params: { name }, form }, operator) => {
      try {
        refuseBuiltIn(name);
        const { diagnostics, ...given } = await checkRecipe(deps.planner, encodeText(form.text), name);
        const stored = await store.catalog(name);
        if (form.do === 'check') {
          const would = stored === undefined ? 'create' : stored.recipe === form.text ? 'leave' : 'change';
          return recipe(name, { diagnostics, form, outcome: { is: 'checked', would } });
        }
        await recheckToken(c)('if-old');
        await applyRecipe(deps, given, { ...callerOf(c, operator.token), expected: form.expected });
        return c.redirect(site.at(`${recipePath(name)}?applied=true`), 303);
      } catch (error) {
        if (!(error instanceof KrmhubError)) throw error;
        const outcome: RecipeOutcome =
          error instanceof RecipeChanged
            ? { is: 'conflict' }
            : { is: 'refused', message: error.message, hint: error.hint };
        const status = error.code === 'conflict' ? 409 : error.code === 'unavailable' ? 503 : 400;
        return recipe(name, { diagnostics: [...error.diagnostics], form, outcome }, status);
      }
    },
  );
}

const encodeText = (text: string) => new TextEncoder().encode(text);

/** Returns the recipes of krmhub for catalogs that do not exist. */
function freeRecipes(...taken: (readonly { name: string }[])[]): ReadyRecipe[] {
  const names = new Set(taken.flat().map(({ name }) => name));
  return readyRecipes().filter(({ name }) => !names.has(name));
}

/** Returns the initial recipe of a catalog: that of krmhub, or everything in this registry. */
function beginning(name: string): string {
  const ready = readyRecipes().find((one) => one.name === name);
  if (ready !== undefined) return ready.text;
  return `apiVersion: krmhub.dev/v1alpha1
kind: CatalogRecipe
metadata:
  name: ${name}
spec:
  sources:
  - name: registry
    functions: {}
`;
}
