import type { Digest } from '@krmhub/schema';
import { blob, index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { catalogs } from './schema.js';

/** Compressed entries that follow each other in a catalog, for the newest snapshots. */
export const segments = sqliteTable('segment', {
  /** Digest of the digests of the entries. */
  digest: text('digest').$type<Digest>().primaryKey(),
  /** Raw deflate of the YAML texts, ended by a sync flush. */
  yaml: blob('yaml', { mode: 'buffer' }).notNull(),
  /** The same of the JSON texts with the text between them. */
  json: blob('json', { mode: 'buffer' }).notNull(),
});

/** The segments of the newest snapshot of each catalog, by their first function. */
export const catalogSegments = sqliteTable(
  'catalog_segment',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    segment: text('segment')
      .$type<Digest>()
      .notNull()
      .references(() => segments.digest),
    /** The lines of its entries in `snapshot.json`. They name the releases and sources of this catalog. */
    lines: text('lines').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.catalog, table.group, table.kind] }),
    index('catalog_segment_segment').on(table.segment),
  ],
);
