import type { ApplyResult, CatalogList, Diagnostic } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { DEFAULT_RECIPE_TEXT, RECIPE_LIMITS, RevisionConflict, readRecipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { authorise } from '../authorise.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryContext, RegistryParts } from '../environment.js';
import { SERVER_LIMITS } from '../limits.js';
import { foundCatalog } from '../lookup.js';
import { catalogDetail } from '../presentation.js';
import { publicAddress } from '../public-address.js';
import { readYamlBody } from '../request-body.js';

/** The catalog that every registry has; its recipe is the program's. */
export const DEFAULT_CATALOG = 'default';

export function catalogRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, cutter } = parts;

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
    const { text, diagnostics } = await readRecipeBody(c, name);
    const outcome = await applyRecipe(parts, name, text, by);
    if (outcome !== 'unchanged') cutter.wake();
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
    await cutter.cutNow(name);
    return c.json(catalogDetail(await foundCatalog(store, name)));
  });
}

async function readRecipeBody(
  c: RegistryContext,
  name: string,
): Promise<{ text: string; diagnostics: Diagnostic[] }> {
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
  return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), diagnostics };
}

async function applyRecipe(
  { store, clock }: Pick<RegistryParts, 'store' | 'clock'>,
  name: string,
  recipe: string,
  by: string,
): Promise<ApplyResult['outcome']> {
  for (let attempt = 0; attempt < SERVER_LIMITS.planAttempts; attempt++) {
    const current = await store.catalog(name);
    if (current?.recipe === recipe) return 'unchanged';
    const at = clock().toISOString();
    const event = { type: 'catalog.applied' as const, at, by, catalog: name };
    try {
      await store.applyRecipe({ name, recipe, expectedRecipe: current?.recipe, at, by, event });
    } catch (error) {
      if (error instanceof RevisionConflict) continue;
      throw error;
    }
    return current === undefined ? 'created' : 'changed';
  }
  throw new KrmhubError('unavailable', `The catalog ${name} is being changed by others all the time`);
}

/** Makes the catalog `default`, and gives it this program's recipe where another version left its own. */
export async function ensureDefaultCatalog(parts: Pick<RegistryParts, 'store' | 'clock'>): Promise<void> {
  await applyRecipe(parts, DEFAULT_CATALOG, DEFAULT_RECIPE_TEXT, 'krmhub');
}
