/**
 * SQL of the serial that search counts as included, so that it reads a catalog again from another one on. It is never the
 * number of before: search is updated in several transactions, and counts a catalog as included only if nothing of it had
 * to be read again meanwhile. So it can be negative.
 */
export const searchedBefore = (serial: string): string =>
  `CASE WHEN searched_serial < ${serial} THEN searched_serial ELSE ${serial} END - 1`;
