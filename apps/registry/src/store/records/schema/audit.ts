import type { AuditRow } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The audit log. A row never changes; only the oldest ones are deleted. */
export const audit = sqliteTable(
  'audit',
  {
    /** Counts from 1 without gaps. */
    sequence: integer('sequence').primaryKey(),
    /** UTC. */
    at: text('at').notNull(),
    actor: text('actor').notNull(),
    action: text('action').$type<AuditRow['action']>().notNull(),
    object: text('object').notNull(),
    outcome: text('outcome').$type<AuditRow['outcome']>().notNull(),
    /** ID of a token. */
    credential: text('credential'),
    address: text('address'),
    requestId: text('request_id'),
    /** JSON object. */
    detail: text('detail'),
    /** SHA-256 of the hash of the row before and of this row. */
    hash: text('hash').$type<Digest>().notNull(),
  },
  (table) => [index('audit_at').on(table.at)],
);
