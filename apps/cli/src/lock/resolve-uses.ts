import {
  isInReleaseRange,
  type Lock,
  type LockedFunction,
  type LockedFunctions,
  type LockUse,
  parseFunction,
  releaseRule,
} from '@krmhub/catalog';
import { openResolver } from '@krmhub/consume/resolve/open-resolver';
import type { Resolution, ResolverOptions } from '@krmhub/consume/resolve/resolution';
import { isUnresolved } from '@krmhub/consume/resolve/resolve-errors';
import { hasTrustFile } from '@krmhub/consume/trust/has-trust-file';
import type { InlineRuntime } from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import type { FunctionDefinition } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { compareWritten, mayBeSynced } from '../function-configs/entry-runtime.js';
import type { ListedFunction } from '../function-configs/layers.js';
import { isUnanswered } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { printWarning } from '../io/print.js';
import { consumePorts } from '../registry/consume-ports.js';
import { displayListed, displayPlace } from './display-path.js';
import { freshUse } from './lock-use.js';
import { lockedFunctions } from './locked-functions.js';
import { checkConfigs, type ResolvedFunction, resolveFunctions, worstExitCode } from './resolve-functions.js';
import { searchOrder } from './search-order.js';

/** With the entry of the catalog and the source of its build, for what was resolved now. */
export type LockedUse = LockUse & { entry?: FunctionDefinition; builtFrom?: string };

export interface UseContext {
  options: ResolverOptions;
  locked: LockedFunctions;
  before: Lock | undefined;
  folder: string;
}

/**
 * Resolves the functions of catalogs that the package uses, with what cannot be resolved. A step of a Kptfile that names
 * what it runs uses one only if `krmhub kpt sync` wrote that.
 */
export async function resolveUses(
  io: Io,
  listed: readonly ListedFunction[],
  context: UseContext,
): Promise<{ uses: LockedUse[]; failed: ResolvedFunction[] }> {
  const { options, locked, before, folder } = context;
  const synced = new Map<ListedFunction, InlineRuntime>();
  const known = before && lockedFunctions(io, before, { folder, frozen: false, command: locked.command });
  const findKnown = ({ request }: Pick<ListedFunction, 'request'>) =>
    known?.find(searchOrder(io, options, request), request.apiVersion, request.kind);
  const distinct = distinctFunctions(listed.filter(mayUseCatalog)).map(({ written, request, ...rest }) => {
    const lockedRelease = findKnown({ request })?.release;
    const one: ListedFunction = { ...rest, request: { ...request, ...defined({ lockedRelease }) } };
    if (written !== undefined) synced.set(one, written);
    return one;
  });
  const conflicts = rangeConflicts(io, options, distinct);
  if (conflicts.length > 0) return { uses: [], failed: conflicts };
  const isUsed = (one: ListedFunction, runtime: Resolution['runtime']) => {
    const written = synced.get(one);
    return written === undefined || compareWritten(written, { runtime }) !== 'other';
  };
  const kept = new Map<ListedFunction, LockedFunction>();
  for (const one of distinct) {
    const { apiVersion, kind } = one.request;
    const found = locked.find(searchOrder(io, options, one.request), apiVersion, kind);
    if (found === undefined || !isUsed(one, found.runtime)) continue;
    const range = rangeOf(options, one);
    if (range === undefined || (found.release !== undefined && isInReleaseRange(found.release, range))) {
      kept.set(one, withRange(found, range));
    }
  }
  const signed = await resolveSigned(io, kept, context);
  for (const { listed: one } of signed) kept.delete(one);
  // Also what stays as it is has to be served and trusted still.
  const old = await withResolver(io, { ...options, lock: locked }, (resolver) =>
    resolveFunctions(resolver, [...kept.keys()]),
  );
  const fresh = await resolveFresh(
    io,
    distinct.filter((one) => !kept.has(one) && !signed.some(({ listed: known }) => known === one)),
    options,
  );
  const uses: LockedUse[] = old.map(({ listed: one }) => ({ fn: kept.get(one)! }));
  const failed: ResolvedFunction[] = old.filter(({ error }) => error !== undefined);
  for (const one of [...signed, ...fresh]) {
    if (one.error !== undefined) {
      if (!synced.has(one.listed) || !isUnresolved(one.error)) failed.push(one);
    } else if (isUsed(one.listed, one.resolution.runtime)) {
      try {
        uses.push(freshUse(io, one, { order: searchOrder(io, options, one.listed.request), before, folder }));
      } catch (error) {
        if (!(error instanceof KrmhubError)) throw error;
        failed.push({ listed: one.listed, error });
      }
    }
  }
  const chosen = fresh.filter(({ resolution }) => resolution?.chosen !== undefined);
  await printLockedWarnings(io, [...old, ...chosen]);
  const rejected = await checkAll(io, listed, [...old, ...signed, ...fresh]);
  const releases = new Map(fresh.map((one) => [functionKey(one.listed), one.resolution?.release]));
  failed.push(
    ...rejected.map((one) =>
      rejectedUpgrade(one, releases.get(functionKey(one.listed)), findKnown(one.listed)),
    ),
  );
  return { uses, failed };
}

function rangeOf({ settings }: ResolverOptions, { request }: ListedFunction): string | undefined {
  return releaseRule(settings, parseFunction(request), request.range)?.range;
}

function withRange({ range: _, ...fn }: LockedFunction, range: string | undefined): LockedFunction {
  return { ...fn, ...defined({ range }) };
}

/** A lock file has one release of each function, so all its functionConfigs must ask for the same. */
function rangeConflicts(
  io: Io,
  options: ResolverOptions,
  listed: readonly ListedFunction[],
): ResolvedFunction[] {
  const first = new Map<string, ListedFunction>();
  return listed.flatMap((one): ResolvedFunction[] => {
    const { apiVersion, kind } = one.request;
    const key = `${apiVersion} ${kind}`;
    const other = first.get(key) ?? one;
    first.set(key, other);
    const [range, before] = [rangeOf(options, one), rangeOf(options, other)];
    if (range === before) return [];
    const { file } = displayListed(io, other);
    const message = `${key} has the range ${range ?? '*'} here and ${before ?? '*'} in ${file}:${other.line}`;
    const error = new KrmhubError('invalid-document', escapeControls(message), {
      hint: 'Use one range for all functionConfigs of a kind, for example in krmhub.yaml.',
    });
    return [{ listed: one, error }];
  });
}

function mayUseCatalog({ request, written }: ListedFunction): boolean {
  return request.inline === undefined && (written === undefined || mayBeSynced(written));
}

/**
 * Functions that were locked before the key of their catalog was pinned, and that a signed snapshot has with the same
 * definition: they stay, and the lock names the key from now on.
 */
async function resolveSigned(
  io: Io,
  kept: ReadonlyMap<ListedFunction, LockedFunction>,
  { options, before }: UseContext,
): Promise<ResolvedFunction[]> {
  const keyless = new Set(
    before?.catalogs.flatMap(({ reference, key }) =>
      key === undefined && !reference.startsWith('.') ? reference : [],
    ),
  );
  const unsigned = [...kept].flatMap(([one, fn]) => (keyless.has(fn.catalog) ? one : []));
  if (unsigned.length === 0 || options.offline || !(await hasTrustFile(io))) return [];
  const resolved = await resolveFresh(io, unsigned, options);
  return resolved.filter(
    ({ listed, resolution }) =>
      resolution?.catalog?.key !== undefined && resolution.definition === kept.get(listed)?.definition,
  );
}

/**
 * Resolves functions with the platforms of their images. An image whose digest is known can be locked without asking
 * its registry, which may need credentials that only the machine has that runs it.
 */
async function resolveFresh(
  io: Io,
  functions: readonly ListedFunction[],
  options: ResolverOptions,
): Promise<ResolvedFunction[]> {
  const asked = await withResolver(io, { ...options, platforms: true }, (resolver) =>
    resolveFunctions(resolver, functions),
  );
  if (asked.every(({ error }) => error === undefined || !isUnanswered(error))) return asked;
  return withResolver(io, options, async (resolver) => {
    const resolved: ResolvedFunction[] = [];
    for (const one of asked) {
      if (one.error === undefined || !isUnanswered(one.error)) {
        resolved.push(one);
        continue;
      }
      const [again] = await resolveFunctions(resolver, [one.listed]);
      if (again?.error !== undefined) resolved.push(one);
      else if (again !== undefined) {
        resolved.push(again);
        await printWarning(io, escapeControls(withoutPlatforms(one)));
      }
    }
    return resolved;
  });
}

function withoutPlatforms({ listed, error }: ResolvedFunction): string {
  const { apiVersion, kind } = listed.request;
  const reason = error?.cause instanceof KrmhubError ? error.cause.message : error?.message;
  return `${apiVersion} ${kind} is locked without the platforms of its image: ${reason}`;
}

export async function withResolver<Result>(
  io: Io,
  options: ResolverOptions,
  work: (resolver: Awaited<ReturnType<typeof openResolver>>) => Promise<Result>,
): Promise<Result> {
  const resolver = await openResolver(consumePorts(io), options);
  try {
    return await work(resolver);
  } finally {
    await resolver.close();
  }
}

/** Prints, once each, what is to say of functions that stay locked. */
async function printLockedWarnings(io: Io, resolved: readonly ResolvedFunction[]): Promise<void> {
  const warnings = resolved.flatMap(({ listed: { request }, resolution }) =>
    (resolution?.warnings ?? []).map((text) => `${request.apiVersion} ${request.kind}: ${text}`),
  );
  for (const warning of new Set(warnings)) await printWarning(io, escapeControls(warning));
}

/** Checks every functionConfig against the schema of what its kind resolves to. */
async function checkAll(
  io: Io,
  listed: readonly ListedFunction[],
  resolved: readonly ResolvedFunction[],
): Promise<ResolvedFunction[]> {
  const resolutions = new Map(resolved.map((one) => [functionKey(one.listed), one.resolution]));
  const found = listed.flatMap((one): ResolvedFunction[] => {
    const resolution = resolutions.get(functionKey(one));
    // A functionConfig or a Kptfile can name something else to run.
    const isOther = ({ runtime }: Resolution) =>
      one.request.inline !== undefined ||
      (one.written !== undefined && compareWritten(one.written, { runtime }) === 'other');
    return resolution === undefined || isOther(resolution) ? [] : [{ listed: one, resolution }];
  });
  const checked = await checkConfigs(io, found);
  for (const one of checked) {
    if (one.error === undefined && one.unchecked !== undefined) {
      await printWarning(io, escapeControls(one.unchecked));
    }
  }
  return checked.filter(({ error }) => error !== undefined);
}

/** Says what to do about a functionConfig that only the locked release accepts. */
function rejectedUpgrade(
  one: ResolvedFunction,
  release: string | undefined,
  locked: LockedFunction | undefined,
): ResolvedFunction {
  const { apiVersion, kind } = one.listed.request;
  if (one.error === undefined || release === undefined) return one;
  if (locked?.release === undefined || release === locked.release) return one;
  const { group } = parseFunction({ apiVersion, kind });
  const hint =
    `Change it for release ${release}: krmhub show ${group}/${kind}@${release}. ` +
    `To stay at ${locked.release}, name the other functions after --upgrade, or set a range in krmhub.yaml.`;
  const { code, message } = one.error;
  const error = new KrmhubError(code, message, { hint: escapeControls(hint), cause: one.error });
  return { ...one, error, upgrade: { locked, release } };
}

/** Several functionConfigs of one kind with the same catalogs have one function. */
function distinctFunctions(listed: readonly ListedFunction[]): ListedFunction[] {
  const key = ({ request: { apiVersion, kind, catalogs, range }, written }: ListedFunction) =>
    JSON.stringify([apiVersion, kind, catalogs.map(({ text, folder }) => [text, folder]), range, written]);
  return [...new Map(listed.toReversed().map((one) => [key(one), one])).values()].reverse();
}

function functionKey({ request: { apiVersion, kind, catalogs } }: ListedFunction): string {
  return JSON.stringify([apiVersion, kind, catalogs.map(({ text, folder }) => [text, folder])]);
}

/** One error for everything that cannot be resolved; its code is that of the worst. */
export function lockFailure(io: Io, target: string, failed: readonly ResolvedFunction[]): KrmhubError {
  const errors = failed.flatMap(({ error }) => error ?? []);
  const [only] = errors;
  const worst = worstExitCode(errors, false);
  const first = errors.find((one) => worstExitCode([one], false) === worst)!;
  const places = failed.map(({ listed, error }) => `${displayPlace(io, listed)}: ${error?.message}`);
  const hint = first.hint ?? `Show the reasons: krmhub explain ${shellWord(target)}`;
  if (errors.length === 1) return new KrmhubError(only!.code, places[0]!, { hint, cause: only });
  const what = `cannot lock ${plural(errors.length, 'function')}; nothing was written`;
  return new KrmhubError(first.code, [what, ...places].join('\n'), { hint, cause: first });
}
