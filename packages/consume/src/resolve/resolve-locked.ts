import type { LockedFunction, LockedFunctions } from '@krmhub/catalog/lock/lock';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { describeReference, type NamedCatalog } from '../references/parse-catalog.js';
import { type OptionTrust, requireTrust, type TrustGrant, withKey } from '../trust/catalog-trust.js';
import { hasTrustFile } from '../trust/has-trust-file.js';
import type { CatalogPin } from '../trust/pinned-catalogs.js';
import { readReleaseState } from '../trust/registry-release.js';
import { checkFrozen, checkLocked, checkSearchedBefore } from './locked/check-locked.js';
import { type Located, registryRelease } from './locked/locked-entry.js';
import type { EntryOrigin } from './read/catalog-reader.js';
import type { CatalogState, Resolution } from './resolution.js';
import { describeState, requireSigner } from './resolve-entry.js';
import { catalogError } from './resolve-errors.js';
import type { SearchContext, SearchedFunction } from './search-context.js';

const UNCHECKED = 'its functionConfig is not checked: the locked definition is not available';

/**
 * Resolves a function as a lock file has it. The catalog has to be trusted all the same. Unless the lock is frozen, the
 * catalog is read, also offline: what is locked must follow from it, and the release must not have been taken down.
 * Undefined for a function that is not locked. Throws `not-found` for that if the lock is frozen.
 */
export async function resolveLocked(
  context: SearchContext,
  trust: OptionTrust,
  lock: LockedFunctions,
  request: SearchedFunction,
  catalogs: readonly NamedCatalog[],
  range?: string,
): Promise<Resolution | undefined> {
  const references = catalogs.map(({ reference }) => reference);
  const fn = lock.find(references, request.apiVersion, request.kind);
  const located = fn === undefined ? undefined : locate(lock, fn, catalogs);
  if (fn === undefined || located === undefined) {
    if (!lock.frozen) return undefined;
    throw new KrmhubError(
      'not-found',
      `cannot resolve ${request.apiVersion} ${request.kind}: it is not locked`,
      { hint: `Lock it: ${lock.command}` },
    );
  }
  const { catalog, state } = located;
  if (range !== undefined && lock.ignoresRanges !== true) await requireInRange(request, located, range);
  try {
    const { trustedBy, warnings, declared } = lock.frozen
      ? await useFrozen(context, trust, request, located)
      : await useChecked(context, trust, lock, request, located);
    const release = registryRelease(request, located);
    const signer = await requireSigner(context, {
      ...functionName(request),
      locked: fn.runtime,
      ...defined({ release }),
    });
    const { reference: _, ...known } = state;
    return {
      ...request,
      catalog: { reference: catalog.reference.text, ...known, trustedBy },
      searched: searchedBefore(lock, fn, catalogs),
      ...defined({ release: fn.release }),
      definition: fn.definition,
      ...defined({ declared, signedBy: fn.signedBy }),
      ...signer,
      runtime: fn.runtime,
      inline: false,
      warnings: [...warnings, ...(declared === undefined ? [UNCHECKED] : [])].map(escapeControls),
    };
  } catch (error) {
    if (error instanceof KrmhubError) throw catalogError(request, catalog.reference.text, error);
    throw error;
  }
}

/** A range may have changed since the function was locked. Its age was judged then. */
async function requireInRange(
  { apiVersion, kind }: SearchedFunction,
  { fn: { release }, command }: Located,
  range: string,
): Promise<void> {
  const { requireRange } = await import('./releases/choose-release.js');
  requireRange(range);
  const { isInReleaseRange } = await import('@krmhub/catalog/policy/release-range');
  if (release !== undefined && isInReleaseRange(release, range)) return;
  const reason =
    release === undefined
      ? `the lock file does not say its release, so the range ${range} cannot be checked`
      : `release ${release} is locked, which is not in the range ${range}`;
  throw new KrmhubError('not-found', escapeControls(`cannot resolve ${apiVersion} ${kind}: ${reason}`), {
    hint: `Lock it again: ${command}`,
  });
}

function locate(
  lock: LockedFunctions,
  fn: LockedFunction,
  catalogs: readonly NamedCatalog[],
): Located | undefined {
  for (const [index, catalog] of catalogs.entries()) {
    const state = lock.catalog(catalog.reference);
    if (state?.reference === fn.catalog)
      return { fn, catalog, state, before: catalogs.slice(0, index), command: lock.command };
  }
  return undefined;
}

interface LockedState {
  trustedBy: string;
  warnings: string[];
  declared?: Resolution['declared'];
}

/** Uses only the lock and the cache. A user who sets --frozen reviews the lock file. */
async function useFrozen(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  located: Located,
): Promise<LockedState> {
  const { catalog } = located;
  const grants = trust.grants(catalog);
  // A file can be read: what the lock file says of its key is not needed.
  const trustedBy =
    catalog.address.type === 'file' && grants.length === 0
      ? (await context.open(catalog)).trustedBy
      : await requireLockedTrust(context, grants, located).catch((error: unknown) => {
          throw trust.explain(error);
        });
  await checkFrozen(context, trust, request, located);
  return { trustedBy, warnings: [], ...(await lockedSchema(context, trust, request, located)) };
}

async function useChecked(
  context: SearchContext,
  trust: OptionTrust,
  lock: LockedFunctions,
  request: SearchedFunction,
  located: Located,
): Promise<LockedState> {
  const { trustedBy, warnings, now } = await checkLocked(context, trust, request, located);
  for (const catalog of located.before) await checkSearchedBefore(context, trust, lock, request, catalog);
  const release = await releaseWarnings(context, request, located, now?.origin);
  const isSame = now?.definition === located.fn.definition;
  return {
    trustedBy,
    warnings: [...warnings, ...release],
    ...(isSame ? { declared: now.entry } : await lockedSchema(context, trust, request, located)),
  };
}

async function lockedSchema(
  ...args: [SearchContext, OptionTrust, SearchedFunction, Located]
): Promise<Pick<LockedState, 'declared'>> {
  const { findLockedSchema } = await import('./locked/locked-schema.js');
  const declared = await findLockedSchema(...args);
  return declared === undefined ? {} : { declared };
}

/** A lock does not grant trust. Its digest and key replace those of the catalog, which is not read. */
async function requireLockedTrust(
  { io }: SearchContext,
  grants: readonly TrustGrant[],
  { catalog, state, command }: Located,
): Promise<string> {
  const pin = await findLockedPin(io, catalog);
  requireLockedSerial(io, { catalog, state, command }, pin);
  const pinned = pin?.keys.map(({ fingerprint }): string => fingerprint);
  const key = state.key !== undefined && pinned?.includes(state.key) === true ? state.key : undefined;
  if (grants.length === 0 && pinned !== undefined && key === undefined) {
    const reason =
      state.key === undefined
        ? 'its key is pinned, but the lock file does not contain the key'
        : `the lock file has the key ${state.key}, but another key is pinned`;
    throw new KrmhubError(
      'untrusted',
      `catalog ${describeReference(catalog.reference)} is not trusted: ${reason}`,
      {
        hint: `To verify its signature, run the command without --frozen. To add the pinned key to the lock file, run: ${command}`,
      },
    );
  }
  return requireTrust(io, catalog, withKey(grants, key), defined({ bytes: state.digest }));
}

/** Throws `untrusted` if the locked snapshot is older than the user accepts. */
function requireLockedSerial(
  io: SearchContext['io'],
  { catalog: { reference }, state: { serial = 0 }, command }: Pick<Located, 'catalog' | 'state' | 'command'>,
  pin: CatalogPin | undefined,
): void {
  const minSerial = Math.max(io.snapshotLimits?.minSerial ?? 0, pin?.limits.minSerial ?? 0);
  if (serial >= minSerial) return;
  const locked = serial === 0 ? 'no snapshot' : `snapshot ${serial}`;
  throw new KrmhubError(
    'untrusted',
    `catalog ${describeReference(reference)} is not trusted: min-serial: the lock file has ${locked} of it, expected at least ${minSerial}`,
    { hint: `Lock the functions again: ${command} --upgrade` },
  );
}

async function findLockedPin(
  io: SearchContext['io'],
  { address }: NamedCatalog,
): Promise<CatalogPin | undefined> {
  if (!(await hasTrustFile(io))) return undefined;
  const { findPin } = await import('../trust/pinned-catalogs.js');
  const { repositoryUrl } = await import('../trust/pinned-artifact.js');
  const { parseReference } = await import('@krmhub/oci');
  const place =
    address.type === 'http'
      ? address.url
      : address.type === 'oci'
        ? repositoryUrl(parseReference(address.reference))
        : undefined;
  return place === undefined ? undefined : findPin(io, place);
}

async function releaseWarnings(
  { fetcher }: SearchContext,
  request: SearchedFunction,
  located: Located,
  origin: EntryOrigin | undefined,
): Promise<string[]> {
  const release = registryRelease(request, located);
  if (release === undefined) return [];
  // The entry of the catalog is of the locked release, so it has its state.
  const isSame = origin?.release === release.release && origin.definition === release.definition;
  const says = isSame && located.state.key === undefined;
  if (says) return describeState(release, origin);
  return fetcher.isOffline ? [] : describeState(release, await readReleaseState(fetcher, release));
}

function functionName(request: SearchedFunction): { group: string; kind: string; name: string } {
  const { group, kind, version } = parseFunction(request);
  return { group, kind, name: version };
}

function searchedBefore(
  lock: LockedFunctions,
  fn: LockedFunction,
  catalogs: readonly NamedCatalog[],
): CatalogState[] {
  return catalogs.flatMap(({ reference }) => {
    const state = lock.catalog(reference);
    if (state === undefined || fn.notIn?.includes(state.reference) !== true) return [];
    return [{ ...state, reference: reference.text }];
  });
}
