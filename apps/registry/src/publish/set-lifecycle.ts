import type { FunctionStore } from '@krmhub/catalog';
import {
  checkReplacement,
  displayedReleaseAfter,
  isAtMostAsWide,
  type LifecycleAction,
  type LifecycleInput,
  type LifecyclePlan,
  planDeprecate,
  planUndeprecate,
  planUnyank,
  planYank,
  type ReleaseRecord,
} from '@krmhub/catalog';
import { type FunctionName, formatReplacement, KrmhubError, type Replacement } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { WakeableBuilder } from '../catalogs/build/catalog-builder.js';
import type { RecheckToken } from '../http/auth/authorize.js';
import type { Caller } from '../http/auth/caller.js';
import type { KnownAccess } from '../http/auth/request-actor.js';
import type { FindStore } from '../store/find-record.js';
import { findRelease, nearFunctions } from '../store/find-record.js';
import { retryOnConflict } from '../store/retry-on-conflict.js';
import type { FunctionLocks } from './function-locks.js';
import { concurrentUpdate } from './publish-release.js';

const PLANS: Record<LifecycleAction, (input: LifecycleInput) => LifecyclePlan> = {
  yank: planYank,
  unyank: planUnyank,
  deprecate: planDeprecate,
  undeprecate: planUndeprecate,
};

export interface LifecycleDeps {
  store: FindStore & FunctionStore;
  functionLocks: FunctionLocks;
  snapshotBuilder: WakeableBuilder;
  access: KnownAccess;
  clock: () => Date;
}

export interface LifecycleRequest extends Caller {
  reason: string;
  /** What to use instead; only to deprecate. */
  replacement?: Replacement;
  recheck: RecheckToken;
}

/**
 * Yanks, unyanks, deprecates, or undeprecates a release, and returns it. Rejects with `not-found` and `gone` as
 * `findRelease` does, with `invalid-request` for a replacement that does not fit, and with `unavailable` after too many
 * concurrent updates.
 */
export function setLifecycle(
  deps: LifecycleDeps,
  action: LifecycleAction,
  name: FunctionName & { release: string },
  request: LifecycleRequest,
): Promise<ReleaseRecord> {
  return deps.functionLocks.run(name, request.recheck, () => commitLifecycle(deps, action, name, request));
}

function commitLifecycle(
  deps: LifecycleDeps,
  action: LifecycleAction,
  name: FunctionName & { release: string },
  { reason, replacement: wanted, by, origin }: LifecycleRequest,
): Promise<ReleaseRecord> {
  const { store, clock, snapshotBuilder: builder } = deps;
  const commitOnce = async () => {
    const { fn, release } = await findRelease(store, name);
    const replacement = wanted === undefined ? undefined : await findReplacement(deps, wanted, release);
    const shownName = displayedReleaseAfter(fn, action, release.release);
    const { release: shown } = await findRelease(store, { ...fn, release: shownName });
    const plan = PLANS[action]({
      current: fn,
      release,
      displayed: shown,
      reason,
      ...defined({ replacement }),
      now: clock().toISOString(),
      by,
    });
    if (plan.outcome === 'unchanged') return plan.release;
    await store.commitFunction({ ...plan.change, origin });
    builder.wake();
    return plan.change.release;
  };
  return retryOnConflict(commitOnce, {
    exhausted() {
      throw concurrentUpdate(name.group, name.kind);
    },
  });
}

/**
 * Returns the replacement with the kind as this registry spells it. Who may not read it is not told of it
 * (seen-records.ts), so one with a narrower visibility would be of little use.
 */
async function findReplacement(
  { store, access: { rules } }: LifecycleDeps,
  wanted: Replacement,
  deprecated: ReleaseRecord,
): Promise<Replacement> {
  const fn = await store.function(wanted.group, wanted.kind);
  const entries = fn === undefined ? await store.servedEntries(wanted.group, wanted.kind) : [];
  const found = fn ?? entries[0];
  if (found === undefined) {
    throw new KrmhubError(
      'invalid-request',
      `replacement ${formatReplacement(wanted)}: this registry has no function ${wanted.group}/${wanted.kind}`,
      { hint: `${(await nearFunctions(store, wanted)).hint} Or publish it first.` },
    );
  }
  const replacement = { ...wanted, group: found.group, kind: found.kind };
  const readers = rules.visibilityOf(deprecated.group, deprecated.kind);
  const its = rules.visibilityOf(found.group, found.kind);
  if (!isAtMostAsWide(readers, its)) {
    throw new KrmhubError(
      'invalid-request',
      `replacement ${formatReplacement(replacement)}: it is ${its}, and ${deprecated.group}/${deprecated.kind} is ${readers}`,
      { hint: 'Name a function that all readers of the deprecated one may read.' },
    );
  }
  // Of an upstream function, others know nothing than those who may read a catalog with it.
  const isKnown =
    fn !== undefined ||
    entries.some(({ catalog }) => isAtMostAsWide(readers, rules.catalogVisibility(catalog)));
  if (!isKnown) {
    const catalogs = entries.map(({ catalog }) => `${catalog} (${rules.catalogVisibility(catalog)})`);
    throw new KrmhubError(
      'invalid-request',
      `replacement ${formatReplacement(replacement)}: it is only in ${catalogs.join(', ')}, and ${deprecated.group}/${deprecated.kind} is ${readers}`,
      { hint: 'Name a function that all readers of the deprecated one may read.' },
    );
  }
  checkReplacement(replacement, deprecated, fn?.releases);
  return replacement;
}
