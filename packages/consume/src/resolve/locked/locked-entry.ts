import type { LockedCatalog, LockedFunction } from '@krmhub/catalog/lock/lock';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema/definition';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import type { EntryStore } from '../../cache/cache-writer.js';
import { type NamedCatalog, parseCatalog } from '../../references/parse-catalog.js';
import type { OptionTrust, TrustGrant } from '../../trust/catalog-trust.js';
import type { RegistryRelease } from '../../trust/registry-release.js';
import type { EntryOrigin, FoundFunction } from '../read/catalog-reader.js';
import type { SearchContext, SearchedFunction } from '../search-context.js';

/** A locked function, and its catalog. */
export interface LockedIn {
  fn: LockedFunction;
  catalog: NamedCatalog;
}

/** A locked function, and the catalog that has it. */
export interface Located extends LockedIn {
  state: LockedCatalog;
  /** The catalogs that are searched before. */
  before: readonly NamedCatalog[];
  /** Locks the package, for hints. */
  command: string;
}

/** An API version as a catalog has it. */
export interface CatalogVersion {
  entry: FunctionDefinition;
  version: FunctionVersion;
  /** Digest of the definition; without an origin, of the entry in normal form. */
  definition: Digest;
  origin?: EntryOrigin;
  /** Digest of the bytes of the catalog, if they were read. */
  catalog?: Digest;
  /** Where what is known of it belongs. */
  store: EntryStore;
}

/** Returns the API version of a catalog that a request resolves to. */
export async function chooseVersion(
  found: FoundFunction,
  request: SearchedFunction,
): Promise<CatalogVersion | undefined> {
  const { version: name } = parseFunction(request);
  const { state, store } = found;
  const read = { store, ...defined({ catalog: state.digest }) };
  for (const { definition, origins } of found.entries) {
    const version = definition.versions.find((one) => one.name === name);
    if (version === undefined) continue;
    const origin = origins?.find((one) => one.name === name);
    if (origin !== undefined)
      return { entry: definition, version, definition: origin.definition, origin, ...read };
    const { renderEntry } = await import('@krmhub/catalog/render/render');
    return { entry: definition, version, definition: renderEntry(definition).digest, ...read };
  }
  return undefined;
}

/**
 * Reads an API version in an earlier snapshot of the same catalog, which its registry keeps. A user who trusts the
 * catalog trusts its snapshots, except where only certain bytes are trusted. `missing` for a snapshot that does not
 * have it; undefined if the snapshot cannot be read.
 */
export async function versionInSnapshot(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  { catalog, serial }: { catalog: NamedCatalog; serial: number | undefined },
): Promise<CatalogVersion | 'missing' | undefined> {
  const { registry } = catalog;
  if (registry === undefined || registry.snapshot !== undefined || serial === undefined) return undefined;
  const text = `${registry.url}/catalogs/${registry.name}/snapshots/${serial}/catalog.yaml`;
  const { openCatalog } = await import('../open/open-catalog.js');
  const grants = () => trust.grants(catalog);
  try {
    const snapshot = parseCatalog(context.io, { text, folder: context.io.cwd });
    const { reader } = await openCatalog(context, { grants }, snapshot);
    try {
      return (await chooseVersion(await reader.find(parseFunction(request)), request)) ?? 'missing';
    } finally {
      await reader.close();
    }
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/** The digests that alone are trusted; undefined for a catalog that is trusted with any content. */
export function onlyDigests(grants: readonly TrustGrant[]): Digest[] | undefined {
  const digests = grants.flatMap(({ digest }) => digest ?? []);
  return grants.length > 0 && digests.length === grants.length ? digests : undefined;
}

export function registryRelease(
  request: SearchedFunction,
  { fn, catalog }: LockedIn,
): RegistryRelease | undefined {
  if (catalog.registry === undefined || fn.release === undefined) return undefined;
  const { group, kind } = parseFunction(request);
  return { registry: catalog.registry.url, group, kind, release: fn.release, definition: fn.definition };
}
