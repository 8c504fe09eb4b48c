import { EvaluationError } from './evaluation-error.js';
import {
  compareSequences,
  equalSequences,
  sequenceContains,
  sliceLength,
  sliceSequence,
} from './sequence.js';
import type { Thread } from './thread.js';
import { type ComparisonOperator, HeapValue, type ReprWriter, type Value } from './value.js';

/** A list. Call `checkMutable` before changing `items`. */
export class List extends HeapValue {
  frozen = false;
  /** Iterations that run now; the list cannot be changed meanwhile. */
  iterators = 0;

  /** Takes the array over, without copying. */
  constructor(readonly items: Value[] = []) {
    super();
  }

  override get typeName(): string {
    return 'list';
  }

  /** Throws if the list is frozen or iterated; `verb` is for the message: `append to`. */
  checkMutable(verb: string): void {
    if (this.frozen) throw new EvaluationError(`cannot ${verb} frozen list`);
    if (this.iterators > 0) throw new EvaluationError(`cannot ${verb} list during iteration`);
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

  override countIterators(change: 1 | -1): void {
    this.iterators += change;
  }

  override at(index: number): Value | undefined {
    return this.items[index];
  }

  override slice(start: number, end: number, step: number, thread: Thread | undefined): List {
    const size = sliceLength(start, end, step);
    thread?.allocate(size * 8);
    thread?.step(size);
    const items = sliceSequence(this.items as Value[], start, end, step);
    return new List(items);
  }

  override contains(element: Value, thread: Thread | undefined): boolean {
    return sequenceContains(this.items, element, thread);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('[');
    writer.writeInside(this, () => writer.writeValues(this.items));
    writer.write(']');
  }

  override equalTo(other: HeapValue, thread: Thread | undefined, depth: number): boolean {
    return equalSequences(this.items, (other as List).items, thread, depth);
  }

  override compareTo(
    other: HeapValue,
    thread: Thread | undefined,
    depth: number,
    operator: ComparisonOperator,
  ): number {
    return compareSequences(this.items, (other as List).items, thread, depth, operator);
  }

  override freezeInto(queue: Value[]): void {
    if (this.frozen) return;
    this.frozen = true;
    for (const item of this.items) if (item instanceof HeapValue) queue.push(item);
  }
}
