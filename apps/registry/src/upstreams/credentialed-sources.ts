import {
  type AccessRules,
  type CatalogReader,
  type CatalogSources,
  type DecidedThrough,
  type EventReader,
  readSourceAddress,
  type SourceReader,
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

/** Snapshots whose sources are read at a time. */
const PAGE = 1_000;

/**
 * Returns the sources of a recipe whose servers get credentials of this registry, if the Access document does not say
 * who may read the catalog: its readers may see what only this registry may fetch.
 */
export async function exposedSources(
  { config: { sourceCredentials: file }, access }: CredentialedDeps,
  { name, sources }: CatalogSources,
): Promise<string[]> {
  if (file === undefined || access.rules.namesCatalog(name)) return [];
  const isCredentialed = await credentialedCheck(file);
  return sources.flatMap(({ name: source, catalog }) =>
    catalog !== undefined && isCredentialed(catalog.url) ? [source] : [],
  );
}

async function credentialedCheck(file: string): Promise<(url: string) => boolean> {
  const hosts = new Set([...(await readCredentialsFile(file)).keys()].map(hostOf));
  return (url) => hosts.has(hostOfSource(url));
}

/**
 * Returns a source of an earlier recipe whose server gets credentials, if the catalog still has what was fetched from it,
 * or a snapshot does, which stays as it is. Undefined if there is none, or if the Access document names the catalog.
 */
async function formerSource(
  { config: { sourceCredentials: file }, access, store }: CredentialedDeps & { store: HistoryReader },
  name: string,
): Promise<string | undefined> {
  if (file === undefined || access.rules.namesCatalog(name)) return undefined;
  const isCredentialed = await credentialedCheck(file);
  for (const { source, copy } of await store.keptSources(name))
    if (copy?.formerUrl !== undefined && isCredentialed(copy.formerUrl)) return source;
  for (let before: number | undefined; ; ) {
    const page = await store.snapshots(name, PAGE, before);
    for (const { sources = [], withdrawn } of page) {
      const found = sources.find(
        ({ state, url, copyUrl = url }) => state !== 'missing' && [url, copyUrl].some(isCredentialed),
      );
      if (withdrawn === undefined && found !== undefined) return found.source;
    }
    if (page.length < PAGE) return undefined;
    before = page.at(-1)!.serial;
  }
}

type HistoryReader = CatalogReader & SourceReader;

function refusal(catalog: string, why: string): KrmhubError {
  return new KrmhubError('conflict', `catalog ${catalog}: ${why}`, {
    hint: `The document needs a rule in \`catalogs\` that matches it, for example {pattern: ${catalog}, visibility: internal}. Apply it with \`krmhub access apply\`.`,
  });
}

async function refuseExposed(deps: CredentialedDeps, recipe: CatalogSources): Promise<void> {
  const [source] = await exposedSources(deps, recipe);
  if (source !== undefined) throw refusal(recipe.name, exposure(source));
}

/** As `refuseExposed`, also for what an earlier recipe of the catalog had. */
async function refuseExposedHistory(
  deps: CredentialedDeps & { store: HistoryReader },
  recipe: CatalogSources,
): Promise<void> {
  await refuseExposed(deps, recipe);
  const source = await formerSource(deps, recipe.name);
  if (source !== undefined) throw refusal(recipe.name, formerExposure(source));
}

/**
 * Returns what refuses changes that would show to others what only this registry may fetch. A recipe and an Access
 * document that are applied at the same time must not both pass, so each returns what it was decided by, for the
 * transaction of the change.
 */
export function exposureChecks(
  deps: CredentialedDeps & {
    access: RegistryAccess;
    store: CatalogReader & EventReader & StoredAccess & SourceReader;
  },
) {
  const { access, store, config } = deps;
  const hasCredentials = config.sourceCredentials !== undefined;
  const decide = async () => (hasCredentials ? access.reloadToDecide(store) : undefined);
  return {
    /** Rejects with `conflict` if a recipe has such sources. */
    async refuseExposedSources(recipe: CatalogSources): Promise<DecidedThrough | undefined> {
      const decided = await decide();
      await refuseExposed(deps, recipe);
      return decided;
    },
    /** Rejects with `conflict` if a catalog that would come back has such sources, or had them. */
    async refuseExposedCatalog(recipe: CatalogSources): Promise<DecidedThrough | undefined> {
      const decided = await decide();
      await refuseExposedHistory(deps, recipe);
      return decided;
    },
    /**
     * Rejects with `conflict` if a catalog has such sources by the rules after a change, or had them, and not by those
     * before. A catalog that had them before does not block other changes: its report has a warning.
     */
    async refuseExposingRules(before: AccessRules, after: AccessRules): Promise<DecidedThrough | undefined> {
      const types = ['catalog.applied', 'catalog.restored'] as const;
      const decided = hasCredentials ? { event: await store.lastEvent(), types } : undefined;
      for (const catalog of await store.catalogs()) {
        const { name } = catalog;
        if (!before.namesCatalog(name) || after.namesCatalog(name)) continue;
        await refuseExposedHistory({ ...deps, access: { rules: after } }, storedRecipe(catalog));
      }
      return decided;
    },
  };
}

/** Describes the problem of such a source. */
export function exposure(source: string): string {
  return `the registry has credentials for the source ${source}, and the Access document does not say who may read the catalog`;
}

/** As `exposure`, for a source that the recipe no longer has, or has with another URL. */
function formerExposure(source: string): string {
  return `it, or an older snapshot, has what the registry fetched from the source ${source} with credentials, and the Access document does not say who may read the catalog`;
}

/** The host of a source, of which the fetcher has read the address: a URL has more spellings than `https://HOST/`. */
function hostOfSource(url: string): string | undefined {
  const read = readSourceAddress(url, { folders: true });
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
