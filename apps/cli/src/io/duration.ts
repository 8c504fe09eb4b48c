import { InvalidArgumentError } from 'commander';

const SECONDS = { d: 86_400, h: 3_600, m: 60, s: 1 } as const;
/** A day. */
const MAX_TIMEOUT_SECONDS = 86_400;

/** Parses a duration as recipes have it, in seconds. */
export function parseDuration(value: string): number {
  const [, count, unit] = /^([1-9]\d{0,8})([dhms])$/.exec(value) ?? [];
  if (count !== undefined) return Number(count) * SECONDS[unit as keyof typeof SECONDS];
  throw new InvalidArgumentError('Use an integer and a unit, for example 30d, 12h, or 90m.');
}

/** Parses how long to wait, in seconds: at most a day. */
export function parseTimeout(value: string): number {
  const seconds = parseDuration(value);
  if (seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new InvalidArgumentError('Use at most 24h.');
}
