import { EvaluationError } from '../../values/evaluation-error.js';
import { StarlarkFloat } from '../../values/float.js';
import { isInt, normalizeInt } from '../../values/integer.js';
import { compositeKey } from '../../values/key-text.js';
import { type BinaryOperator, HeapValue, type Key, type ReprWriter, type Value } from '../../values/value.js';
import { quoteBytes } from './quote.js';

/** Nanoseconds of each unit. */
const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['\u00b5s', 1000n],
  ['\u03bcs', 1000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

/** A length of time: nanoseconds of 64 bits, also negative. */
export class Duration extends HeapValue {
  readonly nanoseconds: bigint;

  constructor(nanoseconds: bigint) {
    super();
    this.nanoseconds = BigInt.asIntN(64, nanoseconds);
  }

  override get typeName(): string {
    return 'time.duration';
  }

  override truth(): boolean {
    return this.nanoseconds !== 0n;
  }

  override hashKey(): Key {
    return compositeKey('duration', [normalizeInt(this.nanoseconds)]);
  }

  override equalTo(other: HeapValue): boolean {
    return this.nanoseconds === (other as Duration).nanoseconds;
  }

  override compareTo(other: HeapValue): number {
    const difference = this.nanoseconds - (other as Duration).nanoseconds;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(printDuration(this.nanoseconds));
  }

  override attributeNames(): readonly string[] {
    return ['hours', 'microseconds', 'milliseconds', 'minutes', 'nanoseconds', 'seconds'];
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'hours':
      case 'minutes':
      case 'seconds':
        return new StarlarkFloat(this.inUnits(UNITS.get(name.slice(0, 1)) as bigint));
      case 'milliseconds':
        return normalizeInt(this.nanoseconds / 1_000_000n);
      case 'microseconds':
        return normalizeInt(this.nanoseconds / 1000n);
      case 'nanoseconds':
        return normalizeInt(this.nanoseconds);
      default:
        return undefined;
    }
  }

  private inUnits(unit: bigint): number {
    const whole = this.nanoseconds / unit;
    return Number(whole) + Number(this.nanoseconds % unit) / Number(unit);
  }

  override binary(operator: BinaryOperator, other: Value, reversed: boolean): Value | undefined {
    const x = this.nanoseconds;
    if (operator === '*' && isInt(other)) return new Duration(x * int64(other));
    if (reversed) {
      if (operator === '/' && isInt(other)) throw new EvaluationError('unsupported operation');
      return undefined;
    }
    if (other instanceof Duration) {
      const y = other.nanoseconds;
      if (operator === '+') return new Duration(x + y);
      if (operator === '-') return new Duration(x - y);
      if (operator !== '/' && operator !== '//') return undefined;
      if (y === 0n) throw divisionByZero();
      return operator === '/' ? new StarlarkFloat(Number(x) / Number(y)) : normalizeInt(x / y);
    }
    if (operator !== '/') return undefined;
    if (isInt(other)) {
      if (int64(other) === 0n) throw divisionByZero();
      return new Duration(x / int64(other));
    }
    if (!(other instanceof StarlarkFloat)) return undefined;
    if (other.value === 0) throw divisionByZero();
    const quotient = Math.trunc(Number(x) / other.value);
    if (!Number.isFinite(quotient)) throw new EvaluationError('time.duration out of range');
    return new Duration(BigInt(quotient));
  }
}

function divisionByZero(): EvaluationError {
  return new EvaluationError('time.duration division by zero');
}

function int64(value: number | bigint): bigint {
  const wide = BigInt(value);
  if (BigInt.asIntN(64, wide) === wide) return wide;
  throw new EvaluationError('int value out of range (want signed 64-bit value)');
}

/** Prints `1h2m3.5s`; durations below a second in a smaller unit: `1.5ms`. */
function printDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (size < 1000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${decimal(size, 3)}\u00b5s`;
  if (size < 1_000_000_000n) return `${sign}${decimal(size, 6)}ms`;
  const minutes = size / 60_000_000_000n;
  const seconds = `${decimal(size % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  return minutes < 60n
    ? `${sign}${minutes}m${seconds}`
    : `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Prints an integer with its last digits behind a point, without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return fraction === '' ? text.slice(0, -digits) : `${text.slice(0, -digits)}.${fraction}`;
}

const MAX_NANOSECONDS = 2n ** 63n;

/** Parses a duration as Go's ParseDuration, for example `1h15m30.918s`. Throws an error for other text. */
export function parseDuration(text: string): Duration {
  const invalid = () => new EvaluationError(`time: invalid duration ${quoteBytes(text)}`);
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  let rest = text.slice(sign.length);
  if (rest === '0') return new Duration(0n);
  if (rest === '') throw invalid();
  let total = 0n;
  while (rest !== '') {
    const found = /^([0-9]*)(?:\.([0-9]*))?/.exec(rest);
    const whole = found?.[1] ?? '';
    const fraction = found?.[2] ?? '';
    if (whole === '' && fraction === '') throw invalid();
    rest = rest.slice((found?.[0] ?? '').length);
    const unitName = /^[^0-9.]*/.exec(rest)?.[0] ?? '';
    if (unitName === '') throw new EvaluationError(`time: missing unit in duration ${quoteBytes(text)}`);
    rest = rest.slice(unitName.length);
    const unit = UNITS.get(unitName);
    if (unit === undefined) {
      const [name, given] = [unitName, text].map(quoteBytes);
      throw new EvaluationError(`time: unknown unit ${name} in duration ${given}`);
    }
    if (whole.length > 20) throw invalid();
    total += BigInt(whole || '0') * unit;
    const digits = fraction.slice(0, 18);
    total += BigInt(Math.trunc(Number(digits || '0') * (Number(unit) / 10 ** digits.length)));
    if (total > MAX_NANOSECONDS) throw invalid();
  }
  if (sign !== '-' && total === MAX_NANOSECONDS) throw invalid();
  return new Duration(sign === '-' ? -total : total);
}
