import { compositeKey } from './key-text.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** The result of `range`: an immutable sequence of ints that is not stored. */
export class Range extends HeapValue {
  readonly size: number;

  /** All three are safe integers; `step` is not 0. */
  constructor(
    readonly start: number,
    readonly stop: number,
    readonly step: number,
  ) {
    super();
    this.size = Math.max(0, Math.ceil((stop - start) / step)) + 0;
  }

  override get typeName(): string {
    return 'range';
  }

  override truth(): boolean {
    return this.size > 0;
  }

  override length(): number {
    return this.size;
  }

  /** Returns the element at an index in range. */
  at(index: number): number {
    return this.start + index * this.step;
  }

  has(value: Value): boolean {
    if (typeof value !== 'number') return false;
    const index = (value - this.start) / this.step;
    return index >= 0 && index < this.size && Number.isInteger(index);
  }

  override elements(thread: Thread | undefined): readonly Value[] {
    if (thread === undefined && this.size > 1_000_000) return [];
    thread?.step(this.size);
    thread?.allocate(this.size * 8);
    const items: Value[] = [];
    for (let i = 0; i < this.size; i++) items.push(this.at(i));
    return items;
  }

  override hashKey(): Key {
    return this.size === 0
      ? compositeKey('r', [])
      : compositeKey('r', [this.start, this.size, this.size === 1 ? 1 : this.step]);
  }

  override equalTo(other: HeapValue): boolean {
    return this.hashKey() === (other as Range).hashKey();
  }

  override writeRepr(writer: ReprWriter): void {
    if (this.step !== 1) writer.write(`range(${this.start}, ${this.stop}, ${this.step})`);
    else writer.write(`range(${this.start}, ${this.stop})`);
  }
}
