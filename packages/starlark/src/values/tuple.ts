import { compositeKey } from './key-text.js';
import {
  compareSequences,
  equalSequences,
  sequenceContains,
  sliceLength,
  sliceSequence,
} from './sequence.js';
import type { Thread } from './thread.js';
import { type ComparisonOperator, HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** A tuple: immutable, but its elements may be mutable. */
export class Tuple extends HeapValue {
  #frozen = false;

  /** Takes the array over, without copying. */
  constructor(readonly items: readonly Value[]) {
    super();
  }

  override get typeName(): string {
    return 'tuple';
  }

  override truth(): boolean {
    return this.items.length > 0;
  }

  override length(): number {
    return this.items.length;
  }

  override elements(): readonly Value[] {
    return this.items;
  }

  override hashKey(thread?: Thread): Key {
    return compositeKey('t', this.items, thread);
  }

  override at(index: number): Value | undefined {
    return this.items[index];
  }

  override slice(start: number, end: number, step: number, thread: Thread | undefined): Tuple {
    const size = sliceLength(start, end, step);
    thread?.allocate(size * 8);
    thread?.step(size);
    const items = sliceSequence(this.items as Value[], start, end, step);
    return new Tuple(items);
  }

  override contains(element: Value, thread: Thread | undefined): boolean {
    return sequenceContains(this.items, element, thread);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('(');
    writer.writeValues(this.items);
    writer.write(this.items.length === 1 ? ',)' : ')');
  }

  override equalTo(other: HeapValue, thread: Thread | undefined, depth: number): boolean {
    return equalSequences(this.items, (other as Tuple).items, thread, depth);
  }

  override compareTo(
    other: HeapValue,
    thread: Thread | undefined,
    depth: number,
    operator: ComparisonOperator,
  ): number {
    return compareSequences(this.items, (other as Tuple).items, thread, depth, operator);
  }

  override freezeInto(queue: Value[]): void {
    if (this.#frozen) return;
    this.#frozen = true;
    for (const item of this.items) if (item instanceof HeapValue) queue.push(item);
  }
}

export const EMPTY_TUPLE = new Tuple([]);
