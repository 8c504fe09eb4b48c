import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import type { CheckedDefinition } from '@krmhub/schema/config-fields/check-config';
import { KrmhubError } from '@krmhub/schema/error';
import type { OptionTrust } from '../../trust/catalog-trust.js';
import type { SearchContext, SearchedFunction } from '../search-context.js';
import type { CatalogVersion, Located } from './locked-entry.js';
import { chooseVersion, onlyDigests, registryRelease, versionInSnapshot } from './locked-entry.js';
import { findSeenSchema } from './seen-functions.js';

/**
 * Finds the schema of a locked definition where its catalog has another one now, or is not read (`--frozen`): what the
 * catalog had, by the cache; else the definition of the release, which its registry keeps and whose bytes have the
 * locked digest; else the locked snapshot, or the catalog as it is. Undefined if none of them can be read. Throws
 * `untrusted` if the registry responds with other bytes.
 */
export async function findLockedSchema(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  located: Located,
): Promise<CheckedDefinition | undefined> {
  const { fn, catalog, state } = located;
  const digests = onlyDigests(trust.grants(catalog));
  const seen = await findSeenSchema(context, { ...request, catalog }, fn.definition, digests);
  if (seen !== undefined) return seen;
  const release = registryRelease(request, located);
  if (release !== undefined) {
    const { readRelease } = await import('../../trust/judge-entry.js');
    const published = await readRelease(context, release).catch(unlessUntrusted);
    if (published !== undefined) return published;
  }
  const serial = fn.serial ?? state.serial;
  const then = await versionInSnapshot(context, trust, request, { catalog, serial });
  const found = isVersion(then) ? then : await versionNow(context, request, located).catch(ifKnown);
  return found !== undefined && isLocked(found, located) ? found.entry : undefined;
}

/** A snapshot that is not signed does not say the digests of its definitions, but all of its bytes can be the locked ones. */
function isLocked({ definition, origin, catalog }: CatalogVersion, { fn, state }: Located): boolean {
  if (definition === fn.definition) return true;
  return origin === undefined && fn.serial === undefined && catalog !== undefined && catalog === state.digest;
}

function isVersion(found: CatalogVersion | 'missing' | undefined): found is CatalogVersion {
  return found !== undefined && found !== 'missing';
}

async function versionNow(
  context: SearchContext,
  request: SearchedFunction,
  { catalog }: Located,
): Promise<CatalogVersion | undefined> {
  const { reader } = await context.open(catalog);
  return chooseVersion(await reader.find(parseFunction(request)), request);
}

/** What runs is known without the schema, so that a server that cannot be reached stops nothing. */
function ifKnown(error: unknown): undefined {
  if (!(error instanceof KrmhubError)) throw error;
}

function unlessUntrusted(error: unknown): undefined {
  if (!(error instanceof KrmhubError) || error.code === 'untrusted') throw error;
}
