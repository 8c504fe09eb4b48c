import { compare } from './comparison.js';
import { equals } from './equality.js';
import { StarlarkFloat } from './float.js';
import { isInt } from './integer.js';
import { LONG_STRING } from './key.js';
import type { Thread } from './thread.js';
import { type ComparisonOperator, HeapValue, type Value } from './value.js';

/** What lists and tuples have in common. */
export abstract class Sequence<Items extends readonly Value[]> extends HeapValue {
  frozen = false;

  /** Takes the array over, without copying. */
  constructor(readonly items: Items) {
    super();
  }

  /** Returns a sequence of the same type. */
  protected abstract of(items: Value[]): Value;

  override truth(): boolean {
    return this.items.length > 0;
  }

  override length(): number {
    return this.items.length;
  }

  override elements(): readonly Value[] {
    return this.items;
  }

  override at(index: number): Value | undefined {
    return this.items[index];
  }

  override slice(start: number, end: number, step: number, thread: Thread | undefined): Value {
    const size = sliceLength(start, end, step);
    thread?.allocate(size * 8);
    thread?.step(size);
    return this.of(sliceSequence(this.items as readonly Value[], start, end, step));
  }

  override contains(element: Value, thread: Thread | undefined): boolean {
    return sequenceContains(this.items, element, thread);
  }

  override equalTo(other: HeapValue, thread: Thread | undefined, depth: number): boolean {
    const x: readonly Value[] = this.items;
    const y: readonly Value[] = (other as this).items;
    if (x.length !== y.length) return false;
    thread?.step(x.length);
    for (let i = 0; i < x.length; i++) if (!equals(x[i]!, y[i]!, thread, depth)) return false;
    return true;
  }

  /** Orders by the first unequal elements, then by length. */
  override compareTo(
    other: HeapValue,
    thread: Thread | undefined,
    depth: number,
    operator: ComparisonOperator,
  ): number {
    const x: readonly Value[] = this.items;
    const y: readonly Value[] = (other as this).items;
    const length = Math.min(x.length, y.length);
    thread?.step(length);
    for (let i = 0; i < length; i++) {
      if (!equals(x[i]!, y[i]!, thread, depth)) return compare(x[i]!, y[i]!, thread, operator, depth);
    }
    return x.length - y.length;
  }

  override freezeInto(queue: Value[]): void {
    if (this.frozen) return;
    this.frozen = true;
    for (const item of this.items) if (item instanceof HeapValue) queue.push(item);
  }
}

/** Reports whether a sequence has an element that equals `wanted`. */
function sequenceContains(items: readonly Value[], wanted: Value, thread: Thread | undefined): boolean {
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
