/** A time zone: the offset from UTC in seconds, to the east, and its abbreviation at an instant. */
export interface Zone {
  /** Takes seconds since 1970. */
  at(unixSeconds: number): { offset: number; abbreviation: string };
}

export const UTC: Zone = { at: () => ({ offset: 0, abbreviation: 'UTC' }) };

/** A zone with one offset. Without abbreviation, the offset is printed in its place. */
export function fixedZone(abbreviation: string, offset: number): Zone {
  return { at: () => ({ offset, abbreviation }) };
}

/** What Intl can format: years before and after are printed with the offset of the nearest year. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

const NAME = /^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/** Returns a zone of the IANA database, `UTC` for an empty name, or undefined. */
export function findZone(name: string): Zone | undefined {
  if (name === '' || name === 'UTC') return UTC;
  if (!NAME.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    return { at: (unixSeconds) => lookUp(format, name, unixSeconds) };
  } catch {
    return undefined;
  }
}

function lookUp(
  format: Intl.DateTimeFormat,
  zone: string,
  unixSeconds: number,
): { offset: number; abbreviation: string } {
  const seconds = Math.min(Math.max(unixSeconds, FIRST_SECOND), LAST_SECOND);
  const parts = new Map(format.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const wall = Date.UTC(2000, part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  const year = new Date(wall).setUTCFullYear(part('year'), part('month') - 1, part('day'));
  const offset = year / 1000 - seconds;
  return { offset, abbreviation: zoneAbbreviation(zone, seconds) ?? offsetAbbreviation(offset) };
}

/** Languages that know the abbreviations of their zones; for other zones Intl gives the offset. */
const LOCALES = ['en-US', 'en-GB', 'en-AU', 'en-NZ', 'en-IN', 'en-ZA', 'ja-JP'];

function zoneAbbreviation(zone: string, unixSeconds: number): string | undefined {
  for (const locale of LOCALES) {
    const format = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' });
    const parts = format.formatToParts(unixSeconds * 1000);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
    if (/^[A-Z]{3,5}$/.test(name)) return name;
  }
  return undefined;
}

/** The IANA database has the offset where a zone has no abbreviation. */
function offsetAbbreviation(offset: number): string {
  const minutes = Math.trunc(Math.abs(offset) / 60);
  const parts = minutes % 60 === 0 ? [minutes / 60] : [Math.trunc(minutes / 60), minutes % 60];
  return `${offset < 0 ? '-' : '+'}${parts.map((part) => String(part).padStart(2, '0')).join('')}`;
}
