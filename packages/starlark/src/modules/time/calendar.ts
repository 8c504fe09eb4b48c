const SECONDS_PER_DAY = 86_400;

/** The parts of a date and time, in the proleptic Gregorian calendar. */
export interface CivilTime {
  year: number;
  /** From 1. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

/** What Date can represent: 100 million days around 1970. */
export const MAX_UNIX_SECONDS = 8_640_000_000_000;

/**
 * Returns seconds since 1970 of a time in UTC; parts out of their range carry over. NaN outside of the range of Date.
 */
export function toUnixSeconds({ year, month, day, hour, minute, second }: CivilTime): number {
  // Date.UTC takes years from 0 to 99 as those of the 20th century.
  const start = new Date(0).setUTCFullYear(year, month - 1, 1);
  return start / 1000 + (day - 1) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
}

export function toCivilTime(unixSeconds: number): CivilTime {
  const date = new Date(unixSeconds * 1000);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}

/** Returns the day of the week, from 0 for Sunday. */
export function weekday(unixSeconds: number): number {
  return new Date(unixSeconds * 1000).getUTCDay();
}

/** Returns the day of the year, from 1. */
export function yearDay(time: CivilTime): number {
  const day = { ...time, hour: 0, minute: 0, second: 0 };
  return (toUnixSeconds(day) - toUnixSeconds({ ...day, month: 1, day: 1 })) / SECONDS_PER_DAY + 1;
}

export function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

export const WEEKDAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const;
