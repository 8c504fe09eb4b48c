import { type CivilTime, MONTHS, WEEKDAYS, yearDay } from './calendar.js';

/**
 * The parts of a layout of Go's package time, which shows how the reference time Mon Jan 2 15:04:05 MST 2006 is
 * written.
 */
const ELEMENT =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|2006|2|__2|_2(?!006)|[345]|PM|pm|[-Z]07(?:00(?:00)?|:00(?::00)?)?|[.,](?:0+|9+)(?![0-9])/;

export interface LayoutPart {
  /** Text before the element. */
  literal: string;
  /** The element, or an empty string at the end. */
  element: string;
}

/** Splits a layout at its elements. */
export function splitLayout(layout: string): LayoutPart[] {
  const parts: LayoutPart[] = [];
  let from = 0;
  for (const found of layout.matchAll(new RegExp(ELEMENT, 'g'))) {
    parts.push({ literal: layout.slice(from, found.index), element: found[0] });
    from = found.index + found[0].length;
  }
  parts.push({ literal: layout.slice(from), element: '' });
  return parts;
}

/** A time to print: its parts in its zone. */
export interface ZonedTime extends CivilTime {
  weekday: number;
  nanosecond: number;
  /** Seconds east of UTC. */
  offset: number;
  abbreviation: string;
}

export function formatTime(time: ZonedTime, layout: string): string {
  return splitLayout(layout)
    .map(({ literal, element }) => literal + (element === '' ? '' : formatElement(time, element)))
    .join('');
}

const two = (value: number) => pad(value, 2);

function pad(value: number, width: number): string {
  return `${value < 0 ? '-' : ''}${String(Math.abs(value)).padStart(width, '0')}`;
}

function formatElement(time: ZonedTime, element: string): string {
  const hour12 = time.hour % 12 || 12;
  switch (element) {
    case '2006':
      return pad(time.year, 4);
    case '06':
      return two(Math.max(time.year, 0) % 100);
    case 'January':
      return MONTHS[time.month - 1] as string;
    case 'Jan':
      return (MONTHS[time.month - 1] as string).slice(0, 3);
    case '1':
      return String(time.month);
    case '01':
      return two(time.month);
    case 'Monday':
      return WEEKDAYS[time.weekday] as string;
    case 'Mon':
      return (WEEKDAYS[time.weekday] as string).slice(0, 3);
    case '2':
      return String(time.day);
    case '_2':
      return String(time.day).padStart(2);
    case '02':
      return two(time.day);
    case '__2':
      return String(yearDay(time)).padStart(3);
    case '002':
      return pad(yearDay(time), 3);
    case '15':
      return two(time.hour);
    case '3':
      return String(hour12);
    case '03':
      return two(hour12);
    case '4':
      return String(time.minute);
    case '04':
      return two(time.minute);
    case '5':
      return String(time.second);
    case '05':
      return two(time.second);
    case 'PM':
      return time.hour >= 12 ? 'PM' : 'AM';
    case 'pm':
      return time.hour >= 12 ? 'pm' : 'am';
    case 'MST':
      return time.abbreviation || formatOffset(time.offset, '-0700');
    default:
      return /^[.,]/.test(element)
        ? formatFraction(time.nanosecond, element)
        : formatOffset(time.offset, element);
  }
}

/** `element` is `-07`, `Z07`, or a longer one with minutes and seconds, with or without colons. */
function formatOffset(offset: number, element: string): string {
  if (element.startsWith('Z') && offset === 0) return 'Z';
  const size = Math.abs(offset);
  const parts = [two(Math.trunc(size / 3600)), two(Math.trunc((size % 3600) / 60)), two(size % 60)];
  const count = (element.replaceAll(':', '').length - 1) / 2;
  return `${offset < 0 ? '-' : '+'}${parts.slice(0, count).join(element.includes(':') ? ':' : '')}`;
}

/** Zeros keep their digits; nines leave trailing zeros out. */
function formatFraction(nanosecond: number, element: string): string {
  const digits = pad(nanosecond, 9)
    .padEnd(element.length - 1, '0')
    .slice(0, element.length - 1);
  if (element[1] === '0') return `${element[0]}${digits}`;
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? '' : `${element[0]}${kept}`;
}
