import type { ApplyResult, CatalogList, Diagnostic } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import {
  DEFAULT_RECIPE_TEXT,
  RECIPE_LIMITS,
  type Recipe,
  RevisionConflict,
  readRecipe,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { authorise } from '../authorise.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryContext, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';
import { foundCatalog } from '../lookup.js';
import { catalogDetail } from '../presentation.js';
import { publicAddress } from '../public-address.js';
import { readYamlBody } from '../request-body.js';
import { storedRecipe } from '../stored-recipe.js';

/** The catalog that every registry has; its recipe is the program's. */
export const DEFAULT_CATALOG = 'default';

export function catalogRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, cutter, refresher } = parts;

  serveRoute(app, ROUTES.catalogs, async (c) => {
    const result: CatalogList = { catalogs: (await store.catalogs()).map(catalogDetail) };
    return c.json(result);
  });

  serveRoute(app, ROUTES.catalog, async (c, { params }) =>
    c.json(catalogDetail(await foundCatalog(store, params.name))),
  );

  serveRoute(app, ROUTES.applyCatalog, async (c, { params: { name } }) => {
    const { name: by } = await authorise(c, parts, 'admin');
    if (name === DEFAULT_CATALOG) {
      throw new KrmhubError('conflict', 'The catalog default is built in and cannot be replaced', {
        hint: 'Apply the recipe under another name.',
      });
    }
    const { text, recipe, diagnostics } = await readRecipeBody(c, name);
    const outcome = await applyRecipe(parts, { text, recipe }, by);
    if (outcome !== 'unchanged') {
      if (upstreamSources(recipe).length > 0) refresher.wake();
      cutter.wake();
    }
    const result: ApplyResult = {
      outcome,
      catalog: catalogDetail(await foundCatalog(store, name)),
      diagnostics,
    };
    if (outcome !== 'created') return c.json(result);
    return c.json(result, 201, { Location: publicAddress(parts.config, fillPath('catalog', { name })) });
  });

  serveRoute(app, ROUTES.cut, async (c, { params: { name } }) => {
    await authorise(c, parts, 'admin');
    await foundCatalog(store, name);
    await waitForSources(parts, name);
    await cutter.cutNow(name);
    return c.json(catalogDetail(await foundCatalog(store, name)));
  });
}

async function readRecipeBody(
  c: RegistryContext,
  name: string,
): Promise<{ text: string; recipe: Recipe; diagnostics: Diagnostic[] }> {
  const bytes = await readYamlBody(c, RECIPE_LIMITS.maxBytes, {
    what: 'A recipe',
    hint: 'Send it as application/yaml.',
  });
  const { recipe, diagnostics } = readRecipe(bytes, `${name}.yaml`);
  if (recipe === undefined) {
    throw new KrmhubError('invalid-document', 'The recipe has errors', { diagnostics });
  }
  if (recipe.name !== name) {
    throw new KrmhubError(
      'invalid-document',
      `The recipe is of the catalog ${recipe.name}, and is applied to ${name}`,
      {
        hint: 'Make metadata.name and the URL the same.',
      },
    );
  }
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return { text, recipe, diagnostics };
}

/** A catalog is not cut before each of its sources was asked. Rejects with `unavailable` where that takes too long. */
async function waitForSources({ store, refresher }: RegistryParts, name: string): Promise<void> {
  const unasked = (await store.sources(name)).some(({ checkedAt }) => checkedAt === undefined);
  if (!unasked || (await refresher.waitFor(name, SERVER_LIMITS.unaskedWaitMilliseconds))) return;
  throw new KrmhubError('unavailable', `Sources of the catalog ${name} are still being asked`, {
    hint: 'Ask again later.',
  });
}

async function applyRecipe(
  { store, clock }: Pick<RegistryParts, 'store' | 'clock'>,
  { text, recipe: { name, sources: all } }: { text: string; recipe: Pick<Recipe, 'name' | 'sources'> },
  by: string,
): Promise<ApplyResult['outcome']> {
  const sources = upstreamSources({ sources: all });
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.catalog(name);
    if (current?.recipe === text) return 'unchanged';
    const at = clock().toISOString();
    const event = { type: 'catalog.applied' as const, at, by, catalog: name };
    try {
      const expectedRecipe = current?.recipe;
      await store.applyRecipe({ name, recipe: text, sources, expectedRecipe, at, by, event });
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    return current === undefined ? 'created' : 'changed';
  }
  throw new KrmhubError('unavailable', `The catalog ${name} is being changed by others all the time`);
}

/** Those that are catalogs elsewhere. */
function upstreamSources({ sources }: Pick<Recipe, 'sources'>): { source: string; url: string }[] {
  return sources.flatMap(({ name, catalog }) =>
    catalog === undefined ? [] : [{ source: name, url: catalog.url }],
  );
}

/** Makes the catalog `default`, and gives it this program's recipe where another version left its own. */
export async function ensureDefaultCatalog(parts: Pick<RegistryParts, 'store' | 'clock'>): Promise<void> {
  const recipe = storedRecipe({ name: DEFAULT_CATALOG, recipe: DEFAULT_RECIPE_TEXT });
  await applyRecipe(parts, { text: DEFAULT_RECIPE_TEXT, recipe }, 'krmhub');
}
