import { EvaluationError } from './evaluation-error.js';
import { StarlarkFloat } from './float.js';
import { sliceLength } from './sequence.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type ReprWriter, typeName, type Value } from './value.js';

/** The result of `range`: an immutable sequence of ints that is not stored. */
export class Range extends HeapValue {
  readonly size: number;

  /** `step` is not 0. Throws unless all three, and the distance from start to stop, are safe integers. */
  constructor(
    readonly start: number,
    readonly stop: number,
    readonly step: number,
  ) {
    super();
    if (![start, stop, step, stop - start].every(Number.isSafeInteger) || step === 0) {
      throw new EvaluationError('range out of range: its numbers need more than 53 bits');
    }
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

  override at(index: number): number {
    return this.start + index * this.step;
  }

  override elements(thread: Thread | undefined): readonly Value[] {
    if (thread === undefined && this.size > 1_000_000) return [];
    thread?.step(this.size);
    thread?.allocate(this.size * 8);
    const items: Value[] = [];
    for (let i = 0; i < this.size; i++) items.push(this.at(i));
    return items;
  }

  override equalTo(other: HeapValue): boolean {
    const { size, start, step } = other as Range;
    if (this.size !== size) return false;
    return size === 0 || (this.start === start && (size === 1 || this.step === step));
  }

  override slice(start: number, end: number, step: number): Range {
    const first = this.at(start);
    const stride = this.step * step;
    // The step of at most one element does not matter; it must not grow with each slice.
    const size = sliceLength(start, end, step);
    if (size <= 1 && !Number.isSafeInteger(stride)) return new Range(first, first + size, 1);
    return new Range(first, this.at(end), stride);
  }

  override contains(element: Value): boolean {
    // A float is found without its fraction, as in starlark-go.
    const number = element instanceof StarlarkFloat ? Math.trunc(element.value) : element;
    if (typeof number === 'bigint') return false;
    if (typeof number !== 'number' || !Number.isFinite(number)) {
      throw new EvaluationError(`'in <range>' requires integer as left operand, not ${typeName(element)}`);
    }
    const index = (number - this.start) / this.step;
    return index >= 0 && index < this.size && Number.isInteger(index);
  }

  override hashKey(): Key {
    throw new EvaluationError('unhashable: range');
  }

  override writeRepr(writer: ReprWriter): void {
    if (this.start === 0 && this.step === 1) writer.write(`range(${this.stop})`);
    else if (this.step !== 1) writer.write(`range(${this.start}, ${this.stop}, ${this.step})`);
    else writer.write(`range(${this.start}, ${this.stop})`);
  }
}
