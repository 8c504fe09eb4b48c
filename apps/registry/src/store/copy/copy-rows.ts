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
    const sum = new RowSum();
    for await (const rows of from.pages(table)) {
      sum.add(rows);
      await to.insert(table, rows);
      await progress(`${sum.count} rows of ${table.name} copied`);
    }
    sums.push(sum);
  }
  for (const [at, table] of tables.entries()) {
    await progress(`Verifying the rows of ${table.name}`);
    const sum = new RowSum();
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

/** Count and digest of ordered rows. */
class RowSum {
  count = 0;
  readonly #hash = createHash('sha256');
  #text: string | undefined;

  add(rows: readonly Row[]): void {
    this.count += rows.length;
    for (const row of rows) {
      const values = row.map((value) =>
        value instanceof Uint8Array
          ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
          : value,
      );
      this.#hash.update(`${JSON.stringify(values)}\n`);
    }
  }

  get text(): string {
    this.#text ??= `${this.count} rows, sha256:${this.#hash.digest('hex')}`;
    return this.#text;
  }
}
