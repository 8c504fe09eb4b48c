import { getTableColumns, getTableName, type InferInsertModel } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Work } from './statement.js';
import { text } from './statement.js';

/**
 * Returns work that inserts a row of a table with a number as its key, and returns the key, which is a new one if the row has none. The
 * SQL is made once: `db.insert` makes it for every row, which takes longer than the insertion. A missing value is the default of
 * its column, or null.
 */
export function inserter<Table extends SQLiteTable>(
  table: Table,
): (row: InferInsertModel<Table>) => Work<number> {
  const columns = Object.entries(getTableColumns(table)) as [string, SQLiteColumn][];
  const [keyName, key] = columns.find(([, { primary }]) => primary)!;
  const others = columns.filter(([name]) => name !== keyName);
  const insert = (inserted: typeof columns) => {
    const names = inserted.map(([, { name }]) => `"${name}"`).join(', ');
    const places = inserted.map(([name]) => `:${name}`).join(', ');
    return text<{ id: number }>(
      `INSERT INTO "${getTableName(table)}" (${names}) VALUES (${places}) RETURNING "${key.name}" AS id`,
    );
  };
  const withKey = insert(columns);
  const withoutKey = insert(others);
  return function* (row) {
    const hasKey = (row as Record<string, unknown>)[keyName] !== undefined;
    const values: Record<string, unknown> = {};
    for (const [name, column] of hasKey ? columns : others) {
      const value = (row as Record<string, unknown>)[name] ?? column.default;
      values[name] = value === undefined || value === null ? null : column.mapToDriverValue(value);
    }
    return (yield* (hasKey ? withKey : withoutKey).first(values))!.id;
  };
}
