import { RUNTIME_KINDS } from '@krmhub/schema';
import type { Field } from '../fields/field.js';
import { type PinnedRuntime, runtimeRules } from '../runtimes/runtimes.js';
import type { LockCode } from './codes.js';

/** Reads the one runtime of a locked function; undefined where an error is reported. */
export function readRuntime(item: Field<LockCode>): PinnedRuntime | undefined {
  const named = RUNTIME_KINDS.filter((kind) => item.get(kind) !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    const found = kind === undefined ? 'no runtime' : `the runtimes ${named.join(' and ')}`;
    item.report('lock/runtime', `the function has ${found}, expected one`);
    return undefined;
  }
  return runtimeRules(kind).readLock(item.get(kind)!);
}
