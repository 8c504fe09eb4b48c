import type { TrustedPublisher } from '@krmhub/catalog';
import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Workflows that may publish. */
export const trustedPublishers = sqliteTable(
  'trusted_publisher',
  {
    id: text('id').primaryKey(),
    group: text('group_name').notNull(),
    /** Absent for every function of the group. */
    kind: text('kind'),
    provider: text('provider').$type<TrustedPublisher['provider']>().notNull(),
    issuer: text('issuer').notNull(),
    /** JSON. */
    settings: text('settings', { mode: 'json' }).$type<Record<string, string>>().notNull(),
    /** JSON. */
    pins: text('pins', { mode: 'json' }).$type<Record<string, string>>().notNull(),
    /** JSON Web Key Set. */
    keys: text('keys'),
    team: text('team'),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    /** UTC. */
    pendingUntil: text('expires_at'),
    /** UTC. */
    lastUsedAt: text('last_used_at'),
  },
  (table) => [index('trusted_publisher_issuer').on(table.issuer, table.group)],
);

/** Tokens of providers that were exchanged, until they expire. */
export const usedIdentityTokens = sqliteTable(
  'used_identity_token',
  {
    issuer: text('issuer').notNull(),
    /** What no other token of the issuer has. */
    key: text('token_key').notNull(),
    /** UTC. */
    until: text('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.key] }),
    index('used_identity_token_expires_at').on(table.until),
  ],
);
