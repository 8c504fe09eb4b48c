import { createHash } from 'node:crypto';
import { KrmhubError } from '@krmhub/schema';
import type { CopiedTable } from './tables.js';

/** Values in the order of the columns. */
export type Row = readonly (string | number | Uint8Array | null)[];

/** One state of a database. */
export interface RowReader {
  /** Yields all rows of a table in pages, in the order of the key. */
  pages(table: CopiedTable): AsyncIterable<readonly Row[]>;
}

/** A transaction in a database without rows. */
export interface RowWriter extends RowReader {
  insert(table: CopiedTable, rows: readonly Row[]): Promise<void>;
}

/**
 * Copies all rows of tables, a page at a time, then reads the copy back and compares it with what was read. Rejects
 * with `conflict` if it differs.
 */
export async function copyRows(
  from: RowReader,
  to: RowWriter,
  tables: readonly CopiedTable[],
  progress: (line: string) => Promise<void>,
): Promise<void> {
  const sums: RowSum[] = [];
  for (const table of tables) {
    const sum = new RowSum(table);
    for await (const rows of from.pages(table)) {
      sum.add(rows);
      await to.insert(table, rows);
      await progress(`${sum.count} rows of ${table.name} copied`);
    }
    sums.push(sum);
  }
  for (const [at, table] of tables.entries()) {
    await progress(`Verifying the rows of ${table.name}`);
    const sum = new RowSum(table);
    for await (const rows of to.pages(table)) sum.add(rows);
    if (sum.text === sums[at]!.text) continue;
    throw new KrmhubError(
      'conflict',
      `the copy of the table ${table.name} is not the same: ${sum.text} instead of ${sums[at]!.text}`,
      {
        hint: 'Nothing was copied. Run the command again. If it fails again, check the disks of both databases.',
      },
    );
  }
}

/** Count and digest of ordered rows of a table. */
class RowSum {
  readonly #columns: CopiedTable['columns'];
  count = 0;
  readonly #hash = createHash('sha256');
  #text: string | undefined;

  constructor({ columns }: CopiedTable) {
    this.#columns = columns;
  }

  add(rows: readonly Row[]): void {
    this.count += rows.length;
    for (const row of rows) {
      const values = row.map((value, at) => {
        if (value instanceof Uint8Array)
          return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
        const isReordered = this.#columns[at]!.isReordered && typeof value === 'string';
        return isReordered ? inOneOrder(withoutOddText(value)) : value;
      });
      this.#hash.update(`${JSON.stringify(values)}\n`);
    }
  }

  get text(): string {
    this.#text ??= `${this.count} rows, sha256:${this.#hash.digest('hex')}`;
    return this.#text;
  }
}

/**
 * Returns JSON that PostgreSQL reads: without U+0000, and without half of a surrogate pair. Its migrations replace the
 * same characters.
 */
export function withoutOddText(json: string): string {
  return json.replace(ESCAPE, (found, code?: string) =>
    code !== undefined && /^(?:0000|d[89a-f])/i.test(code) ? '\\ufffd' : found,
  );
}

/** A whole surrogate pair, the code of another character, or any other escape, such as a backslash before `u0000`. */
const ESCAPE = /\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u([\da-f]{4})|\\./gi;

/** Returns what JSON says, with keys in one order. Not the canonical JSON, which rejects half of a surrogate pair. */
function inOneOrder(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}
