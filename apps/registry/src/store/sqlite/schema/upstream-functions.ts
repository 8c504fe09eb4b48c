import type { Digest } from '@krmhub/schema';
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core';

/**
 * What search shows of functions that newest snapshots take from catalogs elsewhere and that this registry has no
 * release of. No name is here and in `function`, and no id: the full-text index has both.
 */
export const upstreamFunctions = sqliteTable(
  'upstream_function',
  {
    id: integer('id').primaryKey(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    /** Lower case. */
    kindFolded: text('kind_folded').notNull(),
    description: text('description').notNull(),
    publisher: text('publisher').notNull(),
    /** JSON list of API versions. */
    versions: text('versions', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    tags: text('tags', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    runtimes: text('runtimes', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list. */
    licenses: text('licenses', { mode: 'json' }).$type<string[]>().notNull(),
    /** Digest of the rendered entry that is shown. */
    entry: text('entry').$type<Digest>().notNull(),
  },
  (table) => [
    unique('upstream_function_name').on(table.group, table.kindFolded),
    index('upstream_function_order').on(table.group, table.kind),
    index('upstream_function_kind_folded').on(table.kindFolded),
  ],
);

/** Names whose row in `upstream_function` changed: the last ones, by which searches learn what to read again. */
export const upstreamChanges = sqliteTable('upstream_change', {
  sequence: integer('sequence').primaryKey({ autoIncrement: true }),
  group: text('group_name').notNull(),
  kind: text('kind').notNull(),
});
