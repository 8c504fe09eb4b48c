import { integer, text } from 'drizzle-orm/sqlite-core';

/**
 * Columns of what search finds and displays of a function, in the tables `function` and `upstream_function`. Everything
 * that reads or writes them is made from this list; see `search/document-rows.ts`.
 */
export const documentColumns = () => ({
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
  /** The RuntimeFacts of what runs. */
  network: integer('network', { mode: 'boolean' }).notNull().default(false),
  storage: integer('storage', { mode: 'boolean' }).notNull().default(false),
  pinned: integer('pinned', { mode: 'boolean' }).notNull().default(false),
  /** JSON list of the OCI repositories of what runs. */
  images: text('images', { mode: 'json' }).$type<string[]>().notNull().default([]),
});
