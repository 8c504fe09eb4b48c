import { compare } from './comparison.js';
import { equals } from './equality.js';
import { StarlarkFloat } from './float.js';
import { isInt } from './integer.js';
import { LONG_STRING } from './key.js';
import type { Thread } from './thread.js';
import type { ComparisonOperator, Value } from './value.js';

/** Reports whether two sequences have equal elements. */
export function equalSequences(
  x: readonly Value[],
  y: readonly Value[],
  thread: Thread | undefined,
  depth: number,
): boolean {
  if (x.length !== y.length) return false;
  thread?.step(x.length);
  for (let i = 0; i < x.length; i++) if (!equals(x[i]!, y[i]!, thread, depth)) return false;
  return true;
}

/** Orders two sequences by their first unequal elements, then by length. */
export function compareSequences(
  x: readonly Value[],
  y: readonly Value[],
  thread: Thread | undefined,
  depth: number,
  operator: ComparisonOperator,
): number {
  const length = Math.min(x.length, y.length);
  thread?.step(length);
  for (let i = 0; i < length; i++) {
    if (!equals(x[i]!, y[i]!, thread, depth)) return compare(x[i]!, y[i]!, thread, operator, depth);
  }
  return x.length - y.length;
}

/** Reports whether a sequence has an element that equals `wanted`. */
export function sequenceContains(
  items: readonly Value[],
  wanted: Value,
  thread: Thread | undefined,
): boolean {
  thread?.step(items.length);
  if (typeof wanted === 'string' || typeof wanted === 'boolean' || wanted === null) {
    if (typeof wanted === 'string' && wanted.length > LONG_STRING) {
      thread?.step((items.length * wanted.length) / 256);
    }
    return items.includes(wanted);
  }
  if (isInt(wanted)) {
    return (
      items.includes(wanted) || items.some((item) => item instanceof StarlarkFloat && equals(item, wanted))
    );
  }
  for (const item of items) if (equals(item, wanted, thread)) return true;
  return false;
}

/** Returns the number of elements from `start` to before `end` by `step`. */
export function sliceLength(start: number, end: number, step: number): number {
  return Math.max(0, Math.ceil((end - start) / step));
}

/** Returns every `step`th element from `start` to before `end`, all in range. */
export function sliceSequence<T>(
  items: { readonly [index: number]: T; slice(start: number, end: number): T[] },
  start: number,
  end: number,
  step: number,
): T[] {
  if (step === 1) return items.slice(start, end);
  const result: T[] = [];
  for (let i = start; step > 0 ? i < end : i > end; i += step) result.push(items[i]!);
  return result;
}
