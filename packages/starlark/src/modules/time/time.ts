import { BoundMethod, type MethodBody, methodTable } from '../../values/builtin.js';
import { EvaluationError } from '../../values/evaluation-error.js';
import { normalizeInt } from '../../values/integer.js';
import { compositeKey } from '../../values/key-text.js';
import type { Thread } from '../../values/thread.js';
import { checkPositional, wantString } from '../../values/unpack-arguments.js';
import { type BinaryOperator, HeapValue, type Key, type ReprWriter, type Value } from '../../values/value.js';
import { type CivilTime, MAX_UNIX_SECONDS, toCivilTime, toUnixSeconds, weekday } from './calendar.js';
import { Duration } from './duration.js';
import { formatTime, type ZonedTime } from './layout.js';
import { findZone, UTC, type Zone } from './zones.js';

const SECOND = 1_000_000_000n;
/** The time that counts as false: the start of year 1. */
const ZERO_SECONDS = -62_135_596_800n;
const FIELDS = [
  'day',
  'hour',
  'minute',
  'month',
  'nanosecond',
  'second',
  'unix',
  'unix_nano',
  'year',
] as const;

/** An instant, with the zone in which it is shown. Times of different zones are equal if the instants are. */
export class Time extends HeapValue {
  #zoned: ZonedTime | undefined;

  /** `nanoseconds` since 1970. */
  constructor(
    readonly nanoseconds: bigint,
    readonly zone: Zone,
  ) {
    super();
    const seconds = floorDivide(nanoseconds);
    if (seconds < -MAX_UNIX_SECONDS || seconds > MAX_UNIX_SECONDS) {
      throw new EvaluationError('time out of range');
    }
  }

  /** Returns the time that a clock in a zone shows. */
  static fromCivil(civil: CivilTime, nanosecond: number, zone: Zone): Time {
    const wall = toUnixSeconds(civil);
    if (!(Math.abs(wall) <= MAX_UNIX_SECONDS)) throw new EvaluationError('time out of range');
    // The offset may change between the instant and that of the same time in UTC.
    const { offset } = zone.at(wall - zone.at(wall).offset);
    return new Time(BigInt(wall - offset) * SECOND + BigInt(nanosecond), zone);
  }

  override get typeName(): string {
    return 'time.time';
  }

  override truth(): boolean {
    return this.nanoseconds !== ZERO_SECONDS * SECOND;
  }

  override hashKey(): Key {
    return compositeKey('time', [normalizeInt(this.nanoseconds)]);
  }

  override equalTo(other: HeapValue): boolean {
    return this.nanoseconds === (other as Time).nanoseconds;
  }

  override compareTo(other: HeapValue): number {
    const difference = this.nanoseconds - (other as Time).nanoseconds;
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(formatTime(this.zoned(), '2006-01-02 15:04:05.999999999 -0700 MST'));
  }

  override attributeNames(): readonly string[] {
    return [...FIELDS, ...METHODS.keys()];
  }

  override attribute(name: string): Value | undefined {
    const body = METHODS.get(name);
    if (body !== undefined) return new BoundMethod(name, this, body);
    if (name === 'unix') return normalizeInt(BigInt(floorDivide(this.nanoseconds)));
    if (name === 'unix_nano') return normalizeInt(BigInt.asIntN(64, this.nanoseconds));
    const field = FIELDS.find((known) => known === name);
    return field === undefined ? undefined : this.zoned()[field as keyof CivilTime];
  }

  override binary(
    operator: BinaryOperator,
    other: Value,
    reversed: boolean,
    thread?: Thread,
  ): Value | undefined {
    if (other instanceof Duration && (operator === '+' || (operator === '-' && !reversed))) {
      const change = operator === '-' ? -other.nanoseconds : other.nanoseconds;
      // Reading the fields of the new time takes a look-up of its zone.
      if (this.zone !== UTC) thread?.step(1000);
      return new Time(this.nanoseconds + change, this.zone);
    }
    if (other instanceof Time && operator === '-' && !reversed) {
      return new Duration(saturated(this.nanoseconds - other.nanoseconds));
    }
    return undefined;
  }

  /** Returns what a clock in the zone shows. Looked up once: it takes as long as many steps. */
  zoned(): ZonedTime {
    this.#zoned ??= this.#lookUp();
    return this.#zoned;
  }

  #lookUp(): ZonedTime {
    const seconds = floorDivide(this.nanoseconds);
    const { offset, abbreviation } = this.zone.at(seconds);
    return {
      ...toCivilTime(seconds + offset),
      weekday: weekday(seconds + offset),
      nanosecond: Number(this.nanoseconds - BigInt(seconds) * SECOND),
      offset,
      abbreviation,
    };
  }
}

function floorDivide(nanoseconds: bigint): number {
  const quotient = nanoseconds / SECOND;
  return Number(nanoseconds < 0n && quotient * SECOND !== nanoseconds ? quotient - 1n : quotient);
}

/** The longest durations are about 292 years. */
function saturated(nanoseconds: bigint): bigint {
  if (BigInt.asIntN(64, nanoseconds) === nanoseconds) return nanoseconds;
  return nanoseconds < 0n ? -(2n ** 63n) : 2n ** 63n - 1n;
}

const METHODS = methodTable<Time>([
  ['format', format],
  ['in_location', inLocation],
]);

function format(...[thread, time, args, kwargs]: Parameters<MethodBody<Time>>): Value {
  checkPositional('format', args, kwargs, 1, 1);
  const layout = wantString('format', 1, args[0] as Value);
  thread.step(layout.length);
  thread.allocate(layout.length * 10);
  return formatTime(time.zoned(), layout);
}

function inLocation(...[thread, time, args, kwargs]: Parameters<MethodBody<Time>>): Value {
  checkPositional('in_location', args, kwargs, 1, 1);
  thread.step(1000);
  return new Time(time.nanoseconds, wantZone(wantString('in_location', 1, args[0] as Value)));
}

/** Returns a zone by name. Throws if there is none. */
export function wantZone(name: string): Zone {
  const zone = findZone(name);
  if (zone === undefined) throw new EvaluationError(`unknown time zone ${name}`);
  return zone;
}
