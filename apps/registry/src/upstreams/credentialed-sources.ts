import {
  type AccessRules,
  type CatalogReader,
  type CatalogSources,
  type DecidedThrough,
  type EventReader,
  readUpstreamAddress,
  type UpstreamCatalog,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { parseUrl } from '@krmhub/schema/parse-url';
import { storedRecipe } from '../catalogs/stored-recipe.js';
import type { RegistryAccess, StoredAccess } from '../store/stored-access.js';
import { readCredentialsFile } from './credentials-file.js';
import type { FetchSettings } from './source-fetcher.js';

interface CredentialedDeps {
  config: FetchSettings;
  access: { readonly rules: AccessRules };
}

/**
 * Returns the sources of a recipe whose servers get credentials of this registry, if the Access document does not say
 * who may read the catalog: its readers may see what only this registry may fetch.
 */
export async function exposedSources(
  { config: { sourceCredentials: file }, access }: CredentialedDeps,
  { name, sources }: CatalogSources,
): Promise<string[]> {
  if (file === undefined || access.rules.namesCatalog(name)) return [];
  const hosts = new Set([...(await readCredentialsFile(file)).keys()].map(hostOf));
  return sources.flatMap(({ name: source, catalog }) =>
    catalog !== undefined && hosts.has(hostOfSource(catalog)) ? [source] : [],
  );
}

async function refuseExposed(deps: CredentialedDeps, recipe: CatalogSources): Promise<void> {
  const [source] = await exposedSources(deps, recipe);
  if (source === undefined) return;
  throw new KrmhubError('conflict', `catalog ${recipe.name}: ${exposure(source)}`, {
    hint: `The document needs a rule in \`catalogs\` that matches it, for example {pattern: ${recipe.name}, visibility: internal}. Apply it with \`krmhub access apply\`.`,
  });
}

/**
 * Returns what refuses changes that would show to others what only this registry may fetch. A recipe and an Access
 * document that are applied at the same time must not both pass, so each returns what it was decided by, for the
 * transaction of the change.
 */
export function exposureChecks(
  deps: CredentialedDeps & { access: RegistryAccess; store: CatalogReader & EventReader & StoredAccess },
) {
  const { access, store, config } = deps;
  const hasCredentials = config.sourceCredentials !== undefined;
  return {
    /** Rejects with `conflict` if a recipe has such sources. */
    async refuseExposedSources(recipe: CatalogSources): Promise<DecidedThrough | undefined> {
      const decided = hasCredentials ? await access.reloadToDecide(store) : undefined;
      await refuseExposed(deps, recipe);
      return decided;
    },
    /**
     * Rejects with `conflict` if a catalog has such sources by the rules after a change, and not by those before. A
     * catalog that had them before does not block other changes: its report has a warning.
     */
    async refuseExposingRules(before: AccessRules, after: AccessRules): Promise<DecidedThrough | undefined> {
      const types = ['catalog.applied', 'catalog.restored'] as const;
      const decided = hasCredentials ? { event: await store.lastEvent(), types } : undefined;
      for (const catalog of await store.catalogs()) {
        const { name } = catalog;
        if (!before.namesCatalog(name) || after.namesCatalog(name)) continue;
        await refuseExposed({ ...deps, access: { rules: after } }, storedRecipe(catalog));
      }
      return decided;
    },
  };
}

/** Describes the problem of such a source. */
export function exposure(source: string): string {
  return `the registry has credentials for the source ${source}, and the Access document does not say who may read the catalog`;
}

/** The host of a source, of which the fetcher has read the address: a URL has more spellings than `https://HOST/`. */
function hostOfSource(catalog: UpstreamCatalog): string | undefined {
  const read = readUpstreamAddress(catalog);
  if (!read.ok || read.address.type === 'file') return undefined;
  const { address } = read;
  if (address.type === 'oci') return hostOf(`https://${address.reference.split('/')[0]}`);
  return hostOf(address.type === 'git' ? address.repository : address.url);
}

/** Schemes and default ports do not count, and neither does the last dot of a name, which git drops. */
function hostOf(url: string): string | undefined {
  const { host = '' } = parseUrl(url) ?? {};
  return parseUrl(`https://${host}`)
    ?.host.replace(/:80$/, '')
    .replace(/\.(?=$|:)/, '');
}
