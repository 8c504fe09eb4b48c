import { judgeLockedCatalog, judgeLockedEntry, type LockRefusal } from '@krmhub/catalog/lock/judge-catalog';
import type { LockedCatalog, LockedFunction, LockedFunctions } from '@krmhub/catalog/lock/lock';
import { functionOf } from '@krmhub/catalog/resolve/plan-resolve';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '../io/text.js';
import { checkLockedRuntime } from './locked-definition.js';
import { type OptionTrust, requireTrust, withKey } from './open/catalog-trust.js';
import { hasTrustFile } from './open/pins.js';
import type { EntryOrigin } from './read/catalog-reader.js';
import type { NamedCatalog } from './references/parse-catalog.js';
import { type RegistryRelease, readReleaseState } from './release/registry-release.js';
import type { CatalogState, Resolution } from './resolution.js';
import { describeState, requireSigner } from './resolve-entry.js';
import { catalogError } from './resolve-errors.js';
import type { SearchContext, SearchedFunction } from './search-context.js';

/** A locked function, and the catalog that has it. */
interface Located {
  fn: LockedFunction;
  catalog: NamedCatalog;
  state: LockedCatalog;
}

/**
 * Resolves a function as a lock file has it. The catalog has to be trusted all the same. Unless the lock is frozen, the catalog is read:
 * it must not be older than the locked one, and the release must not have been taken down. Undefined for a function that is not
 * locked. Throws `not-found` for that if the lock is frozen.
 */
export async function resolveLocked(
  context: SearchContext,
  trust: OptionTrust,
  lock: LockedFunctions,
  request: SearchedFunction,
  catalogs: readonly NamedCatalog[],
): Promise<Resolution | undefined> {
  const references = catalogs.map(({ reference }) => reference);
  const fn = lock.find(references, request.apiVersion, request.kind);
  const located = fn === undefined ? undefined : locate(lock, fn, catalogs);
  if (fn === undefined || located === undefined) {
    if (!lock.frozen) return undefined;
    throw new KrmhubError(
      'not-found',
      `cannot resolve ${request.apiVersion} ${request.kind}: it is not locked`,
      {
        hint: 'Lock it: krmhub lock',
      },
    );
  }
  const { catalog, state } = located;
  try {
    const trustedBy = await requireLockedTrust(context, trust, located);
    const found =
      lock.frozen || context.fetcher.isOffline
        ? { warnings: [], entry: undefined }
        : await readNow(context, request, located);
    const release = registryRelease(request, located);
    await checkLockedRuntime(context, {
      version: functionOf(request).version,
      definition: fn.definition,
      runtime: fn.runtime,
      ...(release === undefined ? {} : { release }),
      ...(found.entry === undefined ? {} : { entry: found.entry }),
    });
    const signedBy = await requireSigner(context, {
      ...functionName(request),
      ...(release === undefined ? {} : { release }),
    });
    const signer = signedBy ?? fn.signedBy;
    const { reference: _, ...known } = state;
    return {
      ...request,
      catalog: { reference: catalog.reference.text, ...known, trustedBy },
      searched: searchedBefore(lock, fn, catalogs),
      ...(fn.release === undefined ? {} : { release: fn.release }),
      definition: fn.definition,
      ...(signer === undefined ? {} : { signedBy: signer }),
      runtime: fn.runtime,
      inline: false,
      warnings: found.warnings.map(escapeControls),
    };
  } catch (error) {
    if (error instanceof KrmhubError) throw catalogError(request, catalog.reference.text, error);
    throw error;
  }
}

function locate(
  lock: LockedFunctions,
  fn: LockedFunction,
  catalogs: readonly NamedCatalog[],
): Located | undefined {
  for (const catalog of catalogs) {
    const state = lock.catalog(catalog.reference);
    if (state?.reference === fn.catalog) return { fn, catalog, state };
  }
  return undefined;
}

/** A lock grants no trust, but its digest and key stand for what would be read. */
async function requireLockedTrust(
  { io }: SearchContext,
  trust: OptionTrust,
  { catalog, state }: Located,
): Promise<string> {
  const key = state.key !== undefined && (await isPinned(io, catalog, state.key)) ? state.key : undefined;
  return requireTrust(io, catalog, withKey(trust.grants(catalog), key), {
    ...(state.digest === undefined ? {} : { bytes: state.digest }),
  });
}

async function isPinned(io: SearchContext['io'], { address }: NamedCatalog, key: string): Promise<boolean> {
  if (!(await hasTrustFile(io))) return false;
  const { allPins, findPin } = await import('../trust/pinned-catalogs.js');
  const { repositoryUrl } = await import('../trust/pinned-artifact.js');
  const { parseReference } = await import('@krmhub/oci');
  const place =
    address.type === 'http'
      ? address.url
      : address.type === 'oci'
        ? repositoryUrl(parseReference(address.reference))
        : undefined;
  // The address of a file says nothing about the registry that signed it.
  const pins = place === undefined ? await allPins(io) : [await findPin(io, place)];
  return pins.some((pin) => pin?.keys.some(({ fingerprint }) => fingerprint === key));
}

/** Compares with what the catalog has now. Throws `untrusted`, `gone`, and the errors of reading it. */
async function readNow(
  context: SearchContext,
  request: SearchedFunction,
  located: Located,
): Promise<{ warnings: string[]; entry: FunctionDefinition | undefined }> {
  const { fn, catalog, state } = located;
  const opened = await context.open(catalog);
  const name = functionOf(request);
  const found = await opened.reader.find(name);
  refuse(judgeLockedCatalog(state, found.state));
  const entry = found.entries.find(({ definition }) =>
    definition.versions.some((one) => one.name === name.version),
  );
  const origin = entry?.origins?.find((one) => one.name === name.version);
  if (origin !== undefined) {
    const { serial } = found.state;
    refuse(
      judgeLockedEntry(fn, state, {
        definition: origin.definition,
        ...(serial === undefined ? {} : { serial }),
      }),
    );
  }
  const gone =
    entry === undefined ? [`${request.apiVersion} ${request.kind} is no longer in the catalog`] : [];
  const lifecycle = await releaseWarnings(context, request, located, origin);
  return { warnings: [...opened.warnings, ...gone, ...lifecycle], entry: entry?.definition };
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
  return describeState(release, says ? origin : await readReleaseState(fetcher, release));
}

function registryRelease(request: SearchedFunction, { fn, catalog }: Located): RegistryRelease | undefined {
  if (catalog.registry === undefined || fn.release === undefined) return undefined;
  const { group, kind } = functionOf(request);
  return { registry: catalog.registry.url, group, kind, release: fn.release, definition: fn.definition };
}

function functionName(request: SearchedFunction): { group: string; kind: string; name: string } {
  const { group, kind, version } = functionOf(request);
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

function refuse(refusal: LockRefusal | undefined): void {
  if (refusal !== undefined) throw new KrmhubError('untrusted', refusal.message, { hint: refusal.hint });
}
