import type { FunctionRuntime } from '@krmhub/schema/definition';
import { pinRuntime } from '../resolve/pin-runtime.js';
import { tagDifference } from '../runtimes/container.js';
import { findRules, type PinnedRuntime } from '../runtimes/runtimes.js';

export interface RuntimeComparison {
  /** The declared runtime may name another place of the same bytes: catalogs rewrite references to their mirrors. */
  anyPlace?: boolean;
}

/**
 * Returns how a locked runtime differs from the one that a definition declares; undefined if it follows from that.
 * A lock file can come from a repository of another person, so what it names must not be more than the definition says:
 * the same image or executable, and no more permissions. The digest of a declared tag is the only thing that a lock
 * adds.
 */
export function lockedRuntimeDifference(
  locked: PinnedRuntime,
  declared: FunctionRuntime,
  { anyPlace = false }: RuntimeComparison = {},
): string | undefined {
  const plan = pinRuntime(declared, { runtime: locked.type });
  if (plan.type === 'refused') return plan.reason;
  if (plan.type === 'ask') {
    if (locked.type !== 'container') return DIFFERENT_TYPE;
    return tagDifference(locked, plan.reference, declared.container);
  }
  const { runtime } = plan;
  if (runtime.type !== locked.type) return DIFFERENT_TYPE;
  return findRules(locked).difference(locked, runtime, anyPlace);
}

const DIFFERENT_TYPE = 'the type of the runtime differs';
