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
    writer.write(formatFloat(this.value));
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

/** Returns the shortest text that reads back as this float: `1.0`, `1e+100`, `+inf`, `nan`. */
export function formatFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? '+inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const [mantissa, exponentText] = value.toExponential().split('e') as [string, string];
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 6) {
    const digits = String(Math.abs(exponent)).padStart(2, '0');
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${digits}`;
  }
  const sign = value < 0 ? '-' : '';
  const figures = mantissa.replace(/[-.]/g, '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${figures}`;
  const whole = figures.padEnd(exponent + 1, '0');
  return `${sign}${whole.slice(0, exponent + 1)}.${whole.slice(exponent + 1) || '0'}`;
}
