import { type CivilTime, daysIn, MONTHS, WEEKDAYS } from './calendar.js';
import { type LayoutPart, splitLayout } from './layout.js';
import { quoteBytes } from './quote.js';

/** A time as it is written: with an offset, an abbreviation of a zone, or neither. */
export interface ParsedTime extends CivilTime {
  nanosecond: number;
  offset: number | undefined;
  abbreviation: string;
  isUtc: boolean;
}

/** A text that is not a time in the layout. */
export class TimeError extends Error {}

/** Parses a time in a layout of Go's package time. Throws a TimeError. */
export function parseTime(text: string, layout: string): ParsedTime {
  return new TimeParser(text, layout).parse();
}

const MERIDIEMS: Readonly<Record<string, readonly [am: string, pm: string]>> = {
  PM: ['AM', 'PM'],
  pm: ['am', 'pm'],
};

class TimeParser {
  private rest: string;
  private readonly time: ParsedTime = {
    year: 0,
    month: -1,
    day: -1,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    offset: undefined,
    abbreviation: '',
    isUtc: false,
  };
  private yearDay = -1;
  private meridiem: 'AM' | 'PM' | undefined;

  constructor(
    private readonly text: string,
    private readonly layout: string,
  ) {
    this.rest = text;
  }

  parse(): ParsedTime {
    const parts = splitLayout(this.layout);
    for (const [index, part] of parts.entries()) {
      this.literal(part.literal);
      if (part.element !== '') this.element(part.element, parts[index + 1]);
    }
    if (this.rest !== '') {
      throw new TimeError(`parsing time ${quoteBytes(this.text)}: extra text: ${quoteBytes(this.rest)}`);
    }
    const { time } = this;
    if (this.meridiem === 'PM' && time.hour < 12) time.hour += 12;
    else if (this.meridiem === 'AM' && time.hour === 12) time.hour = 0;
    this.date();
    return time;
  }

  /** A date is given by month and day, by the day of the year, or by both. */
  private date(): void {
    const { time } = this;
    if (this.yearDay >= 0) {
      const leap = daysIn(time.year, 2) === 29;
      if (this.yearDay < 1 || this.yearDay > (leap ? 366 : 365)) throw this.outOfRange('day-of-year');
      let month = 1;
      let day = this.yearDay;
      for (; day > daysIn(time.year, month); month++) day -= daysIn(time.year, month);
      if (time.month >= 0 && time.month !== month) {
        throw this.problem('day-of-year does not match month');
      }
      if (time.day >= 0 && time.day !== day) throw this.problem('day-of-year does not match day');
      time.month = month;
      time.day = day;
    }
    if (time.month < 0) time.month = 1;
    if (time.day < 0) time.day = 1;
    if (time.day < 1 || time.day > daysIn(time.year, time.month)) throw this.outOfRange('day');
  }

  /** A space of the layout matches any number of them. */
  private literal(literal: string): void {
    let expected = literal;
    while (expected !== '') {
      if (expected.startsWith(' ')) {
        if (this.rest !== '' && !this.rest.startsWith(' ')) throw this.mismatch(literal);
        expected = expected.trimStart();
        this.rest = this.rest.replace(/^ +/, '');
      } else {
        if (this.rest[0] !== expected[0]) throw this.mismatch(literal);
        expected = expected.slice(1);
        this.rest = this.rest.slice(1);
      }
    }
  }

  private element(element: string, next: LayoutPart | undefined): void {
    const { time } = this;
    switch (element) {
      case '2006':
        time.year = Number(this.take(/^[0-9]{4}/, element));
        break;
      case '06':
        time.year = Number(this.take(/^[0-9]{2}/, element));
        time.year += time.year >= 69 ? 1900 : 2000;
        break;
      case 'Jan':
      case 'January':
        time.month = this.name(MONTHS, element) + 1;
        break;
      case '1':
      case '01':
        time.month = this.number(element, 1, 12, 'month');
        break;
      case 'Mon':
      case 'Monday':
        this.name(WEEKDAYS, element);
        break;
      case '2':
      case '_2':
      case '02':
        if (element === '_2') this.rest = this.rest.replace(/^ /, '');
        time.day = this.number(element, 0, 99, 'day');
        break;
      case '__2':
      case '002':
        if (element === '__2') this.rest = this.rest.replace(/^ {1,2}/, '');
        this.yearDay = Number(this.take(element === '002' ? /^[0-9]{3}/ : /^[0-9]{1,3}/, element));
        break;
      case '15':
        time.hour = this.number(element, 0, 23, 'hour');
        break;
      case '3':
      case '03':
        time.hour = this.number(element, 0, 12, 'hour');
        break;
      case '4':
      case '04':
        time.minute = this.number(element, 0, 59, 'minute');
        break;
      case '5':
      case '05':
        time.second = this.number(element, 0, 59, 'second');
        // A fraction is accepted also where the layout has none.
        if (!/^[.,]/.test(next?.literal === '' ? next.element : '')) this.fraction(/^[.,][0-9]+/);
        break;
      case 'PM':
      case 'pm':
        this.meridiem = this.take(/^[AaPp][Mm]/, element, MERIDIEMS[element]).toUpperCase() as 'AM' | 'PM';
        break;
      case 'MST':
        this.zoneName(element);
        break;
      default:
        if (!/^[.,]/.test(element)) this.zoneOffset(element);
        else if (element[1] === '9') this.fraction(/^[.,][0-9]+/);
        else if (!this.fraction(new RegExp(`^[.,][0-9]{${element.length - 1}}`)))
          throw this.mismatch(element);
    }
  }

  private take(pattern: RegExp, element: string, allowed?: readonly string[]): string {
    const found = pattern.exec(this.rest)?.[0];
    if (found === undefined || (allowed !== undefined && !allowed.includes(found))) {
      throw this.mismatch(element);
    }
    this.rest = this.rest.slice(found.length);
    return found;
  }

  /** Reads one or two digits; two where the element has two. */
  private number(element: string, least: number, most: number, name: string): number {
    const fixed = element.length === 2 && element.startsWith('0');
    const value = Number(this.take(fixed ? /^[0-9]{2}/ : /^[0-9]{1,2}/, element));
    if (value < least || value > most) throw this.outOfRange(name);
    return value;
  }

  private name(names: readonly string[], element: string): number {
    const short = element.length === 3;
    const given = this.rest.toLowerCase();
    const index = names.findIndex((name) =>
      given.startsWith((short ? name.slice(0, 3) : name).toLowerCase()),
    );
    if (index < 0) throw this.mismatch(element);
    this.rest = this.rest.slice(short ? 3 : (names[index] as string).length);
    return index;
  }

  private fraction(pattern: RegExp): boolean {
    const found = pattern.exec(this.rest)?.[0];
    if (found === undefined) return false;
    this.time.nanosecond = Number(found.slice(1, 10).padEnd(9, '0'));
    this.rest = this.rest.slice(found.length);
    return true;
  }

  private zoneOffset(element: string): void {
    if (element.startsWith('Z') && this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1);
      this.time.isUtc = true;
      return;
    }
    const form = element.slice(1).replace('07', '([0-9]{2})').replaceAll('00', '([0-9]{2})');
    const found = new RegExp(`^([-+])${form}`).exec(this.rest);
    if (found === null) throw this.mismatch(element);
    const [all, sign, hours = 0, minutes = 0, seconds = 0] = found;
    if (Number(hours) > 24) throw this.outOfRange('time zone offset hour');
    if (Number(minutes) > 60) throw this.outOfRange('time zone offset minute');
    if (Number(seconds) > 60) throw this.outOfRange('time zone offset second');
    const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    this.time.offset = sign === '-' ? -size : size;
    this.rest = this.rest.slice(all.length);
  }

  private zoneName(element: string): void {
    if (this.rest.startsWith('UTC')) {
      this.rest = this.rest.slice(3);
      this.time.isUtc = true;
      return;
    }
    const name =
      /^(?:GMT[+-][0-9]{1,2}|GMT|ChST|MeST|[+-][0-9]{2}|WITA|[A-Z]{4}T|[A-Z]{3}T|[A-Z]{3})(?![A-Z])/;
    this.time.abbreviation = this.take(name, element);
  }

  private mismatch(element: string): TimeError {
    const [text, layout, rest, part] = [this.text, this.layout, this.rest, element].map(quoteBytes);
    return new TimeError(`parsing time ${text} as ${layout}: cannot parse ${rest} as ${part}`);
  }

  private outOfRange(name: string): TimeError {
    return this.problem(`${name} out of range`);
  }

  private problem(problem: string): TimeError {
    return new TimeError(`parsing time ${quoteBytes(this.text)}: ${problem}`);
  }
}
