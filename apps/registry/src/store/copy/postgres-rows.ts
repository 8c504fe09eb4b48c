import { KrmhubError } from '@krmhub/schema';
import type pg from 'pg';
import { translatePostgresError } from '../postgres/errors.js';
import type { Row, RowReader, RowWriter } from './copy-rows.js';
import { COPIED_TABLES, type CopiedTable } from './tables.js';

/** Rows of one page: rows have up to some hundred kilobytes. */
const PAGE_ROWS = 100;

const TYPES = { integer: 'bigint', text: 'text', blob: 'bytea' } as const;

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
  return {
    ...postgresReader(client),
    async insert(table, rows) {
      const { name, columns } = table;
      const arrays = columns.map(({ type }, at) => `$${at + 1}::${TYPES[type]}[]`);
      const values = columns.map((_, at) => rows.map((row) => row[at]));
      const text = `INSERT INTO "${name}" (${columnList(columns)}) SELECT * FROM unnest(${arrays.join(', ')})`;
      try {
        await client.query({ name: `copy ${name}`, text, values });
      } catch (error) {
        throw withTable(table, translatePostgresError(error));
      }
    },
  };
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

/** Text with U+0000 is in SQLite only. */
function withTable({ name }: CopiedTable, error: unknown): unknown {
  if (!(error instanceof KrmhubError) || error.code !== 'invalid-request') return error;
  return new KrmhubError('conflict', `cannot copy the table ${name}: ${error.message}`, {
    hint: 'PostgreSQL has no text with the character U+0000. Delete or take down what has it.',
    cause: error,
  });
}
