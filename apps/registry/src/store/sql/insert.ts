import { getTableColumns, getTableName, type InferInsertModel } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type Statement, type StatementCall, text, type Work } from './statement.js';

export interface Inserter<Row> {
  /** Inserts a row. */
  (row: Row): Work<number>;
  /** Returns the insertion for `together`. Of one table, only one row without a key is inserted together. */
  later(row: Row): StatementCall;
}

/**
 * Returns work that inserts a row of a table with a number as its key, and returns the key, which is a new one if the
 * row has none. The SQL is made once: `db.insert` makes it for every row, which takes longer than the insertion. A
 * missing value is the default of its column, or null.
 */
export function inserter<Table extends SQLiteTable>(table: Table): Inserter<InferInsertModel<Table>> {
  const columns = Object.entries(getTableColumns(table)) as [string, SQLiteColumn][];
  const [keyName, key] = columns.find(([, { primary }]) => primary)!;
  const others = columns.filter(([name]) => name !== keyName);
  const insert = (inserted: typeof columns, newKey?: string) => {
    const names = inserted.map(([, { name }]) => `"${name}"`);
    const places = inserted.map(([name]) => `:${name}`);
    if (newKey !== undefined) {
      names.push(`"${key.name}"`);
      places.push(newKey);
    }
    return `INSERT INTO "${getTableName(table)}" (${names.join(', ')}) VALUES (${places.join(', ')})
      RETURNING "${key.name}" AS id`;
  };
  const withKey = text<{ id: number }>(insert(columns));
  const withoutKey = text<{ id: number }>({
    sqlite: insert(others),
    // As SQLite does: work that fails leaves no gap. No other writer numbers a row meanwhile.
    postgres: insert(others, `(SELECT coalesce(max("${key.name}"), 0) + 1 FROM "${getTableName(table)}")`),
  });
  const later = (row: InferInsertModel<Table>): StatementCall => {
    const hasKey = (row as Record<string, unknown>)[keyName] !== undefined;
    const values: Record<string, unknown> = {};
    for (const [name, column] of hasKey ? columns : others) {
      const value = (row as Record<string, unknown>)[name] ?? column.default;
      values[name] = value === undefined || value === null ? null : column.mapToDriverValue(value);
    }
    return { statement: (hasKey ? withKey : withoutKey) as Statement, method: 'first', values };
  };
  return Object.assign(
    function* (row: InferInsertModel<Table>): Work<number> {
      return ((yield later(row)) as { id: number }).id;
    },
    { later },
  );
}
