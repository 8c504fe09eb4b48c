import { rm } from 'node:fs/promises';
import { openConnection } from '../sqlite/connection.js';
import { fillSqlite } from './fill.js';
import { openRowState } from './state.js';
import type { CopiedTable } from './tables.js';

/** Copies a PostgreSQL database, as of one moment, to a new SQLite database, which is one file. */
export async function copyToFile(
  url: string,
  file: string,
  options: { tables?: readonly CopiedTable[]; progress?: (line: string) => Promise<void> } = {},
): Promise<void> {
  const state = await openRowState({ url });
  try {
    const connection = openConnection(file);
    try {
      await fillSqlite(connection, state.rows, options);
      // A single file can be read on a read-only disk.
      connection.client.pragma('journal_mode = DELETE');
    } finally {
      connection.close();
    }
  } finally {
    await state.close();
  }
  await rm(`${file}.lock`, { force: true });
}
