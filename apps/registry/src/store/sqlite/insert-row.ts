import { getTableColumns, getTableName, type InferInsertModel } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Connection } from './connection.js';
import { prepared } from './prepared.js';

/**
 * Returns a function that inserts a row of a table and returns its row id. The SQL is made once: `db.insert` makes it
 * for every row, which takes longer than the insertion. A missing value is the default of its column, or null.
 */
export function rowInserter<Table extends SQLiteTable>(
  { client }: Pick<Connection, 'client'>,
  table: Table,
): (row: InferInsertModel<Table>) => number {
  const columns = Object.entries(getTableColumns(table)) as [string, SQLiteColumn][];
  const statement = prepared(() => {
    const names = columns.map(([, { name }]) => `"${name}"`).join(', ');
    const places = columns.map(() => '?').join(', ');
    return client.prepare<unknown[]>(`INSERT INTO "${getTableName(table)}" (${names}) VALUES (${places})`);
  });
  return (row) => {
    const values = columns.map(([key, column]) => {
      const value = (row as Record<string, unknown>)[key] ?? column.default;
      return value === undefined || value === null ? null : column.mapToDriverValue(value);
    });
    return Number(statement.run(...values).lastInsertRowid);
  };
}
