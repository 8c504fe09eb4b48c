/**
 * Checks the functions of a lock file against their catalogs.
 *
 * The cache stores what a trusted catalog had, so that a locked function can still be checked after its catalog
 * changed.
 *
 * @module
 */

import { judgeLockedCatalog, judgeLockedEntry, type LockRefusal } from '@krmhub/catalog/lock/judge-catalog';
import { lockedRuntimeDifference } from '@krmhub/catalog/lock/judge-runtime';
import type { LockedFunctions } from '@krmhub/catalog/lock/lock';
import { parseFunction } from '@krmhub/catalog/resolve/plan-resolve';
import { defined } from '@krmhub/schema/defined';
import type { FunctionRuntime } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { describeReference, type NamedCatalog } from '../../references/parse-catalog.js';
import type { OptionTrust } from '../../trust/catalog-trust.js';
import type { SearchContext, SearchedFunction } from '../search-context.js';
import {
  type CatalogVersion,
  chooseVersion,
  type Located,
  type LockedIn,
  onlyDigests,
  registryRelease,
  versionInSnapshot,
} from './locked-entry.js';
import { findSeen, rememberAbsent, rememberSeen, wasAbsent } from './seen-functions.js';

export interface CheckedFunction {
  trustedBy: string;
  /** What the catalog has of the function now; absent if it no longer has it. */
  now?: CatalogVersion;
  warnings: string[];
}

/**
 * Checks a locked function against its catalog: a lock file may come from an attacker, and must not select what runs.
 * The catalog must not be older than the locked one, and what runs must follow from its entry, or from the one that it
 * had. Throws `untrusted`, and the errors of reading the catalog; offline, it is read from the cache.
 */
export async function checkLocked(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  located: Located,
): Promise<CheckedFunction> {
  const { fn, catalog, state } = located;
  const opened = await context.open(catalog);
  const found = await opened.reader.find(parseFunction(request));
  refuse(judgeLockedCatalog(state, found.state));
  const now = await chooseVersion(found, request);
  const { trustedBy, warnings } = opened;
  if (now === undefined) {
    await checkEarlier(context, trust, request, located);
    const gone = `${request.apiVersion} ${request.kind} is no longer in the catalog`;
    return { trustedBy, warnings: [...warnings, gone] };
  }
  const { definition, origin, version } = now;
  const { serial, digest } = found.state;
  if (origin !== undefined) {
    refuse(judgeLockedEntry(fn, state, { definition, ...defined({ serial }) }));
  }
  const difference = lockedRuntimeDifference(fn.runtime, version.runtime);
  if (definition === fn.definition) {
    refuseDifference(request, located.command, difference);
    const { entry } = now;
    await rememberSeen(
      now.store,
      { ...request, catalog },
      { definition, digest, entry, runtime: version.runtime },
    );
  } else if (difference !== undefined) await checkEarlier(context, trust, request, located);
  return { trustedBy, now, warnings };
}

/** Checks what runs against an entry that the catalog had when it was locked. */
async function checkEarlier(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  { fn, catalog, state, command }: Located,
): Promise<void> {
  const name = { ...request, catalog };
  const digests = onlyDigests(trust.grants(catalog));
  const seen = await findSeen(context, name, fn.definition, digests);
  if (seen !== undefined) {
    refuseDifference(request, command, lockedRuntimeDifference(fn.runtime, seen));
    return;
  }
  const serial = fn.serial ?? state.serial;
  const then = await versionInSnapshot(context, trust, request, { catalog, serial });
  if (then === undefined) {
    await refuseTakenDown(context, request, { fn, catalog });
    throw untrusted(
      `the catalog has another definition now, and the locked definition ${fn.definition} is not available, so krmhub cannot verify the lock file`,
      `To use the definition in the catalog, run: ${command} --upgrade ${request.kind}`,
    );
  }
  if (then === 'missing') refuseDifference(request, command, `snapshot ${serial} does not have it`);
  else {
    const { origin, definition, version } = then;
    if (origin !== undefined && definition !== fn.definition) {
      refuseDifference(
        request,
        command,
        `snapshot ${serial} has the definition ${definition}, not ${fn.definition}`,
      );
    }
    refuseDifference(request, command, lockedRuntimeDifference(fn.runtime, version.runtime));
    if (origin === undefined) await checkRelease(context, request, { fn, catalog, command });
    const { entry, store } = then;
    await rememberSeen(store, name, { definition: fn.definition, entry, runtime: version.runtime });
  }
}

/** Throws `gone` if the release was taken down, together with the snapshots that had it. */
async function refuseTakenDown(
  { fetcher }: SearchContext,
  request: SearchedFunction,
  located: LockedIn,
): Promise<void> {
  const release = registryRelease(request, located);
  if (release === undefined || fetcher.isOffline) return;
  const { readReleaseState } = await import('../../trust/registry-release.js');
  await readReleaseState(fetcher, release).catch((error: unknown) => {
    if (error instanceof KrmhubError && error.code === 'gone') throw error;
  });
}

/**
 * A snapshot that is not signed does not specify its releases: the definition of the locked release must declare what
 * runs, too.
 */
async function checkRelease(
  context: SearchContext,
  request: SearchedFunction,
  located: LockedIn & { command: string },
): Promise<void> {
  const release = registryRelease(request, located);
  if (release === undefined) return;
  const { readSignedVersion } = await import('../../trust/judge-entry.js');
  const version = await readSignedVersion(context, release, parseFunction(request).version);
  const runtime: FunctionRuntime = version?.runtime ?? {};
  const { container } = runtime;
  // Only a digest says that an image is the same in another place. That of a tag was compared with the snapshot.
  if (container !== undefined && container.sha256 === undefined && !container.image.includes('@')) return;
  refuseDifference(
    request,
    located.command,
    lockedRuntimeDifference(located.fn.runtime, runtime, { anyPlace: true }),
  );
}

/**
 * Checks a frozen function with what the cache knows of its catalog. Without that, the lock file is taken at its word.
 */
export async function checkFrozen(
  context: SearchContext,
  trust: OptionTrust,
  request: SearchedFunction,
  { fn, catalog, command }: Located,
): Promise<void> {
  const digests = onlyDigests(trust.grants(catalog));
  const seen = await findSeen(context, { ...request, catalog }, fn.definition, digests);
  if (seen !== undefined) refuseDifference(request, command, lockedRuntimeDifference(fn.runtime, seen));
}

/**
 * Checks that the catalogs that are searched first do not have a function, as the lock file says. One that got the
 * function in a later snapshot than the locked one changes nothing.
 */
export async function checkSearchedBefore(
  context: SearchContext,
  trust: OptionTrust,
  lock: LockedFunctions,
  request: SearchedFunction,
  catalog: NamedCatalog,
): Promise<void> {
  const name = { ...request, catalog };
  const found = await findNow(context, request, catalog);
  if (found === undefined) return;
  const state = lock.catalog(catalog.reference);
  if (state !== undefined) refuse(judgeLockedCatalog(state, found.state));
  if ((await chooseVersion(found, request)) === undefined) return rememberAbsent(found.store, name);
  const serial = state?.serial;
  const isLater = serial !== undefined && (found.state.serial ?? 0) > serial;
  if (isLater && (await versionInSnapshot(context, trust, request, { catalog, serial })) === 'missing')
    return;
  throw untrusted(
    `${describeReference(catalog.reference)}, which is searched first, has ${request.apiVersion} ${request.kind}, but the lock file lists it in notIn`,
    `To use that catalog, run: ${lock.command} --upgrade ${request.kind}`,
  );
}

/** Undefined offline, if the catalog is known not to have the function. */
async function findNow(context: SearchContext, request: SearchedFunction, catalog: NamedCatalog) {
  try {
    return await (await context.open(catalog)).reader.find(parseFunction(request));
  } catch (error) {
    const isUncached = error instanceof KrmhubError && error.code === 'unavailable';
    if (isUncached && context.fetcher.isOffline && (await wasAbsent(context, { ...request, catalog })))
      return undefined;
    throw error;
  }
}

function refuseDifference(
  { apiVersion, kind }: SearchedFunction,
  command: string,
  difference: string | undefined,
): void {
  if (difference === undefined) return;
  throw untrusted(
    `the lock file does not match the locked definition of ${apiVersion} ${kind}: ${difference}`,
    `Nothing was run. Check who changed the lock file. To use the definition in the catalog, run: ${command} --upgrade ${kind}`,
  );
}

function refuse(refusal: LockRefusal | undefined): void {
  if (refusal !== undefined) throw untrusted(refusal.message, refusal.hint);
}

function untrusted(message: string, hint: string): KrmhubError {
  return new KrmhubError('untrusted', message, { hint });
}
