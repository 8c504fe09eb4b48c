import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Packages whose lock files were reported. */
export const consumers = sqliteTable(
  'consumer',
  {
    reporter: text('reporter').notNull(),
    name: text('name').notNull(),
    /** UTC. */
    reportedAt: text('reported_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.reporter, table.name] }),
    index('consumer_reported_at').on(table.reportedAt),
  ],
);

/** What they lock. */
export const consumedReleases = sqliteTable(
  'consumed_release',
  {
    reporter: text('reporter').notNull(),
    name: text('name').notNull(),
    group: text('group_name').notNull(),
    kind: text('kind').notNull(),
    kindFolded: text('kind_folded').notNull(),
    version: text('api_version').notNull(),
    release: text('release').notNull(),
    /** JSON. */
    fields: text('fields', { mode: 'json' }).$type<string[]>(),
  },
  (table) => [
    primaryKey({
      columns: [table.reporter, table.name, table.group, table.kindFolded, table.version, table.release],
    }),
    index('consumed_release_function').on(table.group, table.kindFolded),
  ],
);
