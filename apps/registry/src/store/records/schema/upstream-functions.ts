import type { Digest } from '@krmhub/schema';
import { index, integer, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core';

/**
 * Search metadata of functions that newest snapshots take from upstream catalogs and that have no release in this
 * registry. Names and ids are unique across this table and `function`, because the full-text index covers both.
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
    /** Digest of the displayed rendered entry. */
    entry: text('entry').$type<Digest>().notNull(),
    /** The RuntimeFacts of the entry. */
    network: integer('network', { mode: 'boolean' }).notNull().default(false),
    storage: integer('storage', { mode: 'boolean' }).notNull().default(false),
    pinned: integer('pinned', { mode: 'boolean' }).notNull().default(false),
    /** JSON list of the OCI repositories of what it runs. */
    images: text('images', { mode: 'json' }).$type<string[]>().notNull().default([]),
  },
  (table) => [
    unique('upstream_function_name').on(table.group, table.kindFolded),
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
