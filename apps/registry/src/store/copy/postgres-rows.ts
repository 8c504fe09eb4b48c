import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import { translatePostgresError } from '../postgres/errors.js';
import { BEFORE_ALL } from '../postgres/time.js';
import { type Row, type RowReader, type RowWriter, withoutOddText } from './copy-rows.js';
import { COPIED_TABLES, type CopiedTable } from './tables.js';

/** Rows of one page: rows have up to some hundred kilobytes. */
const PAGE_ROWS = 100;

/** Reads in the transaction of a client. */
export function postgresReader(client: pg.Client): RowReader {
  return {
    async *pages({ name, columns, key }) {
      try {
        await client.query(
          `DECLARE page NO SCROLL CURSOR FOR SELECT ${columnList(columns)} FROM "${name}" ORDER BY ${columnList(
            key.map((column) => ({ name: column })),
          )}`,
        );
        for (;;) {
          const { rows } = await client.query<Row[]>({
            text: `FETCH ${PAGE_ROWS} FROM page`,
            rowMode: 'array',
          });
          if (rows.length === 0) break;
          yield rows as unknown as Row[];
        }
        await client.query('CLOSE page');
      } catch (error) {
        throw translatePostgresError(error);
      }
    },
  };
}

/** Writes in the transaction of a client. */
export function postgresWriter(client: pg.Client): RowWriter {
  const types = new Map<CopiedTable, readonly string[]>();
  return {
    ...postgresReader(client),
    async insert(table, rows) {
      const { name, columns } = table;
      try {
        const known = types.get(table) ?? (await columnTypes(client, table));
        types.set(table, known);
        const arrays = known.map((type, at) => `$${at + 1}::${type}[]`);
        const values = known.map((type, at) => {
          const column = rows.map((row) => row[at]);
          if (type === TIME) return column.map((time) => (time === '' ? BEFORE_ALL : time));
          if (type !== 'jsonb') return column;
          return column.map((json) => (typeof json === 'string' ? withoutOddText(json) : json));
        });
        const text = `INSERT INTO "${name}" (${columnList(columns)}) SELECT * FROM unnest(${arrays.join(', ')})`;
        await client.query({ name: `copy ${name}`, text, values });
      } catch (error) {
        throw withTable(table, translatePostgresError(error));
      }
    },
  };
}

const TIME = 'timestamp with time zone';

/** Returns the types of the columns of a table, in the order of the columns. */
async function columnTypes(client: pg.Client, { name, columns }: CopiedTable): Promise<string[]> {
  const { rows } = await client.query<{ column: string; type: string }>(
    `SELECT attname AS "column", format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0`,
    [`"${name}"`],
  );
  const types = new Map(rows.map(({ column, type }) => [column, type]));
  return columns.map((column) => types.get(column.name)!);
}

/** Lets rows that are inserted without a key follow the copied ones. */
export async function continueSequences(client: pg.Client): Promise<void> {
  for (const { name, columns, key } of COPIED_TABLES) {
    const [column, ...others] = key;
    if (others.length > 0 || columns.find((one) => one.name === column)?.type !== 'integer') continue;
    await client.query(
      `SELECT setval(sequence, greatest(last, 1), last > 0)
       FROM pg_get_serial_sequence('"${name}"', '${column}') AS sequence,
         (SELECT coalesce(max("${column}"), 0) AS last FROM "${name}") AS rows WHERE sequence IS NOT NULL`,
    );
  }
}

const columnList = (columns: readonly { name: string }[]): string =>
  columns.map(({ name }) => `"${name}"`).join(', ');

/** SQLite stores text with U+0000, and any text in the place of a time or of JSON. */
function withTable({ name }: CopiedTable, error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string };
  const isText = code === 'invalid-request';
  if (!isText && !/^22/.test(code ?? '')) return error;
  return new KrmhubError('conflict', `cannot copy the table ${name}: ${message}`, {
    hint: isText
      ? 'PostgreSQL has no text with the character U+0000. Delete or take down what has it.'
      : 'The row is damaged. Find the damage with `krmhub fsck`, and restore the database from a backup.',
    cause: error,
  });
}
