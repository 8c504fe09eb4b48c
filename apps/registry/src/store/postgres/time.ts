import pg from 'pg';

/** The time before all others, of the clock of a catalog that never ran. In records and SQLite, it is an empty text. */
export const BEFORE_ALL = '-infinity';

const parse = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (text: string) => Date;

/** Returns a time of the server as an ISO text in UTC with milliseconds, which is what records contain. */
export function readTime(text: string): string {
  if (text === BEFORE_ALL) return '';
  // Nearly all have at most milliseconds.
  const utc = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?\+00$/.exec(text);
  if (utc !== null) return `${utc[1]}T${utc[2]}.${(utc[3] ?? '').padEnd(3, '0')}Z`;
  return parse(text).toISOString();
}
