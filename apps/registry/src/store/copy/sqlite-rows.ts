import type BetterSqlite3 from 'better-sqlite3';
import { translateSqliteError } from '../sqlite/errors.js';
import type { Row, RowReader, RowWriter } from './copy-rows.js';
import type { CopiedTable } from './tables.js';

/** Rows of one page, and the bytes after which it ends: rows have up to some hundred kilobytes. */
const PAGE_ROWS = 500;
const PAGE_BYTES = 1_048_576;

/** Reads in the read transaction of a client. */
export function sqliteReader(client: BetterSqlite3.Database): RowReader {
  return {
    async *pages({ name, columns, key }) {
      try {
        const read = client
          .prepare(
            `SELECT ${columnList(columns.map((one) => one.name))} FROM "${name}" ORDER BY ${columnList(key)}`,
          )
          .raw();
        let page: Row[] = [];
        let bytes = 0;
        for (const row of read.iterate() as IterableIterator<Row>) {
          page.push(row);
          bytes += rowSize(row);
          if (page.length < PAGE_ROWS && bytes < PAGE_BYTES) continue;
          yield page;
          page = [];
          bytes = 0;
        }
        if (page.length > 0) yield page;
      } catch (error) {
        throw translateSqliteError(error);
      }
    },
  };
}

/** Writes in the transaction of a client. */
export function sqliteWriter(client: BetterSqlite3.Database): RowWriter {
  const statements = new Map<CopiedTable, BetterSqlite3.Statement>();
  return {
    ...sqliteReader(client),
    async insert(table, rows) {
      try {
        let insert = statements.get(table);
        if (insert === undefined) {
          const names = table.columns.map(({ name }) => name);
          const places = names.map(() => '?').join(', ');
          insert = client.prepare(`INSERT INTO "${table.name}" (${columnList(names)}) VALUES (${places})`);
          statements.set(table, insert);
        }
        for (const row of rows) insert.run(...row);
      } catch (error) {
        throw translateSqliteError(error);
      }
    },
  };
}

const columnList = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

function rowSize(row: Row): number {
  let size = 0;
  for (const value of row) if (value !== null && typeof value !== 'number') size += value.length;
  return size;
}
