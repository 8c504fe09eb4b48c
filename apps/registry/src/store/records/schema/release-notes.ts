import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { releases } from './schema.js';

/** Notes of releases. Not in their rows, which are read in thousands. A takedown deletes them with the release. */
export const releaseNotes = sqliteTable('release_notes', {
  release: integer('release')
    .primaryKey()
    .references(() => releases.id, { onDelete: 'cascade' }),
  /** Markdown. */
  notes: text('notes').notNull(),
});
