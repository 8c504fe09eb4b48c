import type { StatementCall } from './statement.js';

/** A placeholder for the number of a row that the same changes insert. */
export class NewNumber {
  readonly table: string;
  readonly ahead: number;

  constructor(table: string, ahead: number) {
    this.table = table;
    this.ahead = ahead;
  }
}

/**
 * Returns a value for changes that insert a row and others that refer to it: one more than the highest `id` of the table
 * when they run, after `ahead` rows that they insert before it. A number that was read earlier can be taken by then.
 */
export function newNumber(table: 'function' | 'release' | 'oci_manifest', ahead = 0): number {
  return new NewNumber(table, ahead) as unknown as number;
}

/** The next number of a table. */
export const nextNumber = (table: string) => `SELECT coalesce(max("id"), 0) + 1 AS "next" FROM "${table}"`;

/** Returns the tables of which changes need a new number. */
export function numberedTables(calls: readonly StatementCall[]): string[] {
  const tables = new Set<string>();
  for (const { values } of calls) {
    for (const value of Object.values(values)) if (value instanceof NewNumber) tables.add(value.table);
  }
  return [...tables];
}

/** Returns the changes with numbers, from the next one of each table. */
export function withNumbers(
  calls: readonly StatementCall[],
  next: ReadonlyMap<string, number>,
): StatementCall[] {
  const number = (value: unknown) =>
    value instanceof NewNumber ? next.get(value.table)! + value.ahead : value;
  return calls.map((call) => ({
    ...call,
    values: Object.fromEntries(Object.entries(call.values).map(([name, value]) => [name, number(value)])),
  }));
}
