import type { Digest } from '@krmhub/schema';
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core';
import { documentColumns } from './document-columns.js';

/**
 * Search metadata of functions that newest snapshots take from upstream catalogs and that have no release in this
 * registry: a row for each entry of a name. Ids are unique across this table and `function`, because the full-text index
 * covers both.
 */
export const upstreamFunctions = sqliteTable(
  'upstream_function',
  {
    id: integer('id').primaryKey(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** Lower case. */
    kindFolded: text('kind_folded').notNull(),
    ...documentColumns(),
    /** Digest of the rendered entry. */
    entry: text('entry').$type<Digest>().notNull(),
  },
  (table) => [
    unique('upstream_function_entry').on(table.group, table.kindFolded, table.entry),
    index('upstream_function_order').on(table.group, table.kind),
    index('upstream_function_kind_folded').on(table.kindFolded),
  ],
);

/** Recent changes of `upstream_function`, from which searches learn which functions to read again. */
export const upstreamChanges = sqliteTable('upstream_change', {
  sequence: integer('sequence').primaryKey({ autoIncrement: true }),
  group: text('group_name').notNull(),
  kind: text('kind').notNull(),
});
