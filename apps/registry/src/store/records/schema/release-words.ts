import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { releases } from './schema.js';

/** Words of releases for search. A takedown deletes them with the release. */
export const releaseWords = sqliteTable('release_words', {
  release: integer('release')
    .primaryKey()
    .references(() => releases.id, { onDelete: 'cascade' }),
  fields: text('fields').notNull(),
  readme: text('readme').notNull(),
});
