import type { SourceRecord, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { sql } from 'drizzle-orm';
import {
  foreignKey,
  index,
  integer,
  primaryKey,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { catalogs, entries } from './schema.js';

/** Tables of upstream sources. */

/** An upstream source of a catalog's recipe. */
export const catalogSources = sqliteTable(
  'catalog_source',
  {
    catalog: text('catalog')
      .notNull()
      .references(() => catalogs.name),
    source: text('source').notNull(),
    url: text('url').notNull(),
    /** UTC. */
    nextAt: text('next_at').notNull(),
    /** UTC; null until its first sync since the recipe was applied. */
    checkedAt: text('checked_at'),
    /** JSON; null after a success. */
    failure: text('failure', { mode: 'json' }).$type<SourceRecord['failure']>(),
    /** JSON of the last good copy; its bytes are a blob. */
    copy: text('copy', { mode: 'json' }).$type<SourceRecord['copy']>(),
    /** JSON. */
    highest: text('highest', { mode: 'json' }).$type<SourceRecord['highest']>(),
  },
  (table) => [primaryKey({ columns: [table.catalog, table.source] })],
);

/**
 * A current or former entry of a source. Former ones are stored for a while, so that a returning entry keeps its age.
 */
export const upstreamEntries = sqliteTable(
  'upstream_entry',
  {
    catalog: text('catalog').notNull(),
    source: text('source').notNull(),
    group: text('group_name').notNull(),
    /** Lower case. */
    kindFolded: text('kind_folded').notNull(),
    /** Digest of the rendered entry. */
    definition: text('definition')
      .$type<Digest>()
      .notNull()
      .references(() => entries.digest),
    kind: text('kind').notNull(),
    /** JSON of the values that policies and selectors use. */
    facts: text('facts', { mode: 'json' }).$type<EntryFacts>().notNull(),
    /** UTC. */
    firstSeen: text('first_seen').notNull(),
    /** UTC; null while the source has it. */
    goneAt: text('gone_at'),
    /** Sequence of the event that added it, removed it, re-evaluated it, or found that it reached the minimum age. */
    changedEvent: integer('changed_event').notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.catalog, table.source, table.group, table.kindFolded, table.definition],
    }),
    foreignKey({
      columns: [table.catalog, table.source],
      foreignColumns: [catalogSources.catalog, catalogSources.source],
    }),
    uniqueIndex('upstream_entry_present')
      .on(table.catalog, table.group, table.kindFolded, table.source)
      .where(sql`gone_at IS NULL`),
    index('upstream_entry_order').on(table.catalog, table.group, table.kind),
    index('upstream_entry_change').on(table.catalog, table.changedEvent),
    index('upstream_entry_age').on(table.catalog, table.source, table.firstSeen),
    index('upstream_entry_definition').on(table.definition),
  ],
);

/** Content of `upstream_entry.facts`. */
export type EntryFacts = Pick<UpstreamEntry, 'versions' | 'tags' | 'publisher' | 'runtimes' | 'licenses'>;

/** Rendered entries of deleted upstream entries. They may be unused now. */
export const unusedEntries = sqliteTable('unused_entry', {
  digest: text('digest').$type<Digest>().primaryKey(),
  /** UTC. */
  since: text('since').notNull(),
});
