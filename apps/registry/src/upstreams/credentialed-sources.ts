import type { AccessRules, CatalogReader, Recipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import { readCredentialsFile } from './credentials-file.js';
import type { FetchSettings } from './source-fetcher.js';

type NamedRecipe = Pick<Recipe, 'name' | 'sources'>;

interface CredentialedDeps {
  config: Pick<FetchSettings, 'sourceCredentials'>;
  access: { readonly rules: AccessRules };
}

/**
 * Returns the sources of a recipe whose servers get credentials of this registry, if the Access document does not say
 * who may read the catalog: its readers may see what only this registry may fetch.
 */
export async function exposedSources(
  { config: { sourceCredentials: file }, access }: CredentialedDeps,
  { name, sources }: NamedRecipe,
): Promise<string[]> {
  if (file === undefined || access.rules.namesCatalog(name)) return [];
  const hosts = new Set([...(await readCredentialsFile(file)).keys()].map(hostOf));
  return sources.flatMap(({ name: source, catalog }) =>
    catalog !== undefined && hosts.has(hostOf(catalog.url)) ? [source] : [],
  );
}

async function refuseExposed(deps: CredentialedDeps, recipe: NamedRecipe): Promise<void> {
  const [source] = await exposedSources(deps, recipe);
  if (source === undefined) return;
  throw new KrmhubError('conflict', `catalog ${recipe.name}: ${exposure(source)}`, {
    hint: `The document needs a rule in \`catalogs\` that matches it, for example {pattern: ${recipe.name}, visibility: internal}. Apply it with \`krmhub access apply\`.`,
  });
}

/** Returns what refuses changes that would show to others what only this registry may fetch. */
export function exposureChecks(deps: CredentialedDeps & { store: Pick<CatalogReader, 'catalogs'> }) {
  return {
    /** Rejects with `conflict` if a recipe has such sources. */
    refuseExposedSources: (recipe: NamedRecipe) => refuseExposed(deps, recipe),
    /**
     * Rejects with `conflict` if a catalog has such sources by the rules after a change, and not by those before. A
     * catalog that had them before does not block other changes: its report has a warning.
     */
    async refuseExposingRules(before: AccessRules, after: AccessRules): Promise<void> {
      for (const catalog of await deps.store.catalogs()) {
        const { name } = catalog;
        if (!before.namesCatalog(name) || after.namesCatalog(name)) continue;
        await refuseExposed({ ...deps, access: { rules: after } }, storedRecipe(catalog));
      }
    },
  };
}

/** Describes the problem of such a source. */
export function exposure(source: string): string {
  return `the registry has credentials for the source ${source}, and the Access document does not say who may read the catalog`;
}

/** Sources of every type have a host, and only those over HTTP an origin. Default ports do not count. */
function hostOf(url: string): string | undefined {
  const host = /:\/\/(?:[^/?#]*@)?([^/?#]+)/.exec(url)?.[1];
  return host === undefined ? undefined : parseUrl(`https://${host}`)?.host.replace(/:80$/, '');
}
