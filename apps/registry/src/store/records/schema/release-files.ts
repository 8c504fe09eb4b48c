import type { Digest } from '@krmhub/schema';
import { blob, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** Small definitions and READMEs, by digest. */
export const releaseFiles = sqliteTable(
  'release_file',
  {
    id: integer('id').primaryKey(),
    digest: text('digest').$type<Digest>().notNull(),
    /** The exact bytes as raw deflate. */
    bytes: blob('bytes', { mode: 'buffer' }).notNull(),
  },
  (table) => [uniqueIndex('release_file_digest').on(table.digest)],
);
