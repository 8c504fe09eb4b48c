import type { OwnerClaim } from '@krmhub/catalog';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Groups whose owners proved them. */
export const ownerClaims = sqliteTable('owner_claim', {
  group: text('group_name').primaryKey(),
  team: text('team').notNull(),
  proof: text('proof').$type<OwnerClaim['proof']>().notNull(),
  /** UTC. */
  claimedAt: text('claimed_at').notNull(),
  claimedBy: text('claimed_by').notNull(),
  /** UTC. */
  checkedAt: text('checked_at').notNull(),
  /** UTC. */
  missingSince: text('missing_since'),
  problem: text('problem'),
});
