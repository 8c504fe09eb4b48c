import type { AccessRules, Recipe } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
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

/** Rejects with `conflict` if a recipe has such sources. */
export async function refuseExposedSources(deps: CredentialedDeps, recipe: NamedRecipe): Promise<void> {
  const [source] = await exposedSources(deps, recipe);
  if (source === undefined) return;
  throw new KrmhubError('conflict', `catalog ${recipe.name}: ${exposure(source)}`, {
    hint: `Add the catalog to \`catalogs\` of the Access document with \`krmhub access apply\`, for example {pattern: ${recipe.name}, visibility: internal}.`,
  });
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
