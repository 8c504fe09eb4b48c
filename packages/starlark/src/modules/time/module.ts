/**
 * The module `time`: times, durations, time zones, and their formats, without a clock.
 *
 * @module
 */

import { wantInt64 } from '../../builtins/arguments.js';
import { Builtin, type BuiltinBody } from '../../values/builtin.js';
import { EvaluationError } from '../../values/evaluation-error.js';
import { Module } from '../../values/module.js';
import type { Thread } from '../../values/thread.js';
import { checkPositional, unpackArguments, wantString } from '../../values/unpack-arguments.js';
import { type Kwargs, typeName, type Value } from '../../values/value.js';
import { Duration, parseDuration } from './duration.js';
import { parseTime, TimeError } from './parse-time.js';
import { Time, wantZone } from './time.js';
import { findZone, fixedZone, UTC, type Zone } from './zones.js';

const RFC3339 = '2006-01-02T15:04:05Z07:00';
/** Steps that reading a zone takes. */
const ZONE_STEPS = 1000;

const FUNCTIONS: Readonly<Record<string, BuiltinBody>> = {
  from_timestamp: fromTimestamp,
  is_valid_timezone: isValidTimezone,
  now,
  parse_duration: parseDurationFunction,
  parse_time: parseTimeFunction,
  time: makeTime,
};

/** The module `time`, without a clock: `now` is an error, so that a script gives the same result in each run. */
export const TIME_MODULE = new Module('time', [
  ['nanosecond', new Duration(1n)],
  ['microsecond', new Duration(1000n)],
  ['millisecond', new Duration(1_000_000n)],
  ['second', new Duration(1_000_000_000n)],
  ['minute', new Duration(60_000_000_000n)],
  ['hour', new Duration(3_600_000_000_000n)],
  ...Object.entries(FUNCTIONS).map(([name, body]) => [name, new Builtin(name, body)] as const),
]);

function now(): Value {
  throw new EvaluationError('time.now is not available: scripts have no clock');
}

function fromTimestamp(_thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('from_timestamp', args, kwargs, 1, 2);
  const [seconds = 0n, nanoseconds = 0n] = args.map((value, index) =>
    BigInt(wantInt64('from_timestamp', index + 1, value)),
  );
  return new Time(seconds * 1_000_000_000n + nanoseconds, UTC);
}

function isValidTimezone(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('is_valid_timezone', args, kwargs, 1, 1);
  thread.step(ZONE_STEPS);
  return findZone(wantString('is_valid_timezone', 1, args[0] as Value)) !== undefined;
}

function parseDurationFunction(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  checkPositional('parse_duration', args, kwargs, 1, 1);
  const x = args[0] as Value;
  if (x instanceof Duration) return x;
  if (typeof x !== 'string') {
    const problem = `got ${typeName(x)}, want a duration, string, or int`;
    throw new EvaluationError(`parse_duration: for parameter 1: ${problem}`);
  }
  thread.step(x.length);
  try {
    return parseDuration(x);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    throw new EvaluationError(`parse_duration: for parameter 1: ${error.message}`);
  }
}

function parseTimeFunction(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const values = unpackArguments('parse_time', args, kwargs, ['x', 'format?', 'location?']);
  const [x, layout = RFC3339, location = 'UTC'] = values;
  const text = wantString('parse_time', 'x', x as Value);
  const form = wantString('parse_time', 'format', layout);
  thread.step(text.length + form.length + ZONE_STEPS);
  const zone = wantZone(wantString('parse_time', 'location', location));
  try {
    const parsed = parseTime(text, form);
    return Time.fromCivil(parsed, parsed.nanosecond, chooseZone(parsed, zone));
  } catch (error) {
    throw error instanceof TimeError ? new EvaluationError(error.message) : error;
  }
}

/** An offset or abbreviation of the text goes before the zone that the script names. */
function chooseZone(parsed: ReturnType<typeof parseTime>, zone: Zone): Zone {
  const { isUtc, offset, abbreviation } = parsed;
  if (isUtc || (offset === 0 && abbreviation === '')) return UTC;
  if (offset !== undefined) return fixedZone(abbreviation, offset);
  if (abbreviation === '') return zone;
  const hours = /^GMT([+-][0-9]+)$/.exec(abbreviation)?.[1];
  return fixedZone(abbreviation, hours === undefined ? 0 : Number(hours) * 3600);
}

const TIME_PARAMETERS = ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanosecond'] as const;

function makeTime(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
  const parameters = [...TIME_PARAMETERS, 'location'].map((name) => `${name}?`);
  const values = unpackArguments('time', args, kwargs, parameters);
  if (args.length > 0) throw new EvaluationError('time: unexpected positional arguments');
  thread.step(ZONE_STEPS);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, nanosecond = 0] =
    TIME_PARAMETERS.map((name, index) => Number(wantInt64('time', name, values[index] ?? 0)));
  const zone = wantZone(wantString('time', 'location', values[TIME_PARAMETERS.length] ?? ''));
  const carried = Math.floor(nanosecond / 1e9);
  return Time.fromCivil(
    { year, month, day, hour, minute, second: second + carried },
    nanosecond - carried * 1e9,
    zone,
  );
}
