import { compare } from './comparison.js';
import { equals } from './equality.js';
import type { Thread } from './thread.js';
import type { Value } from './value.js';

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
): number {
  const length = Math.min(x.length, y.length);
  thread?.step(length);
  for (let i = 0; i < length; i++) {
    if (!equals(x[i]!, y[i]!, thread, depth)) return compare(x[i]!, y[i]!, thread, '<', depth);
  }
  return x.length - y.length;
}
