import { printFloat } from '../text/float.js';
import { intFromDouble } from './integer.js';
import { HeapValue, type Key, type ReprWriter } from './value.js';

/** A float: an IEEE 754 double. */
export class StarlarkFloat extends HeapValue {
  constructor(readonly value: number) {
    super();
  }

  override get typeName(): string {
    return 'float';
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(printFloat(this.value));
  }

  override truth(): boolean {
    return this.value !== 0;
  }

  /** Equal numbers have the same key: 1 and 1.0; all NaN are equal. */
  override hashKey(): Key {
    return Number.isInteger(this.value) ? intFromDouble(this.value) : this.value;
  }

  override equalTo(other: HeapValue): boolean {
    return compareDoubles(this.value, (other as StarlarkFloat).value) === 0;
  }

  override compareTo(other: HeapValue): number {
    return compareDoubles(this.value, (other as StarlarkFloat).value);
  }

  override unary(operator: '-' | '+' | '~'): StarlarkFloat | undefined {
    if (operator === '~') return undefined;
    return operator === '-' ? new StarlarkFloat(-this.value) : this;
  }
}

/** Orders doubles totally: NaN equals NaN and is greater than everything else. */
export function compareDoubles(x: number, y: number): number {
  if (x < y) return -1;
  if (x > y) return 1;
  if (x === y) return 0;
  return (Number.isNaN(x) ? 1 : 0) - (Number.isNaN(y) ? 1 : 0);
}
