import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { LoginApproval, LoginRequestRecord } from '../../login-store.js';

/** Programs that wait for a user to allow them to sign in, until they expire. */
export const loginRequests = sqliteTable(
  'login_request',
  {
    /** SHA-256 of the program's secret, hexadecimal. */
    hash: text('hash').primaryKey(),
    code: text('code').notNull(),
    client: text('client').notNull(),
    address: text('address').notNull(),
    network: text('network').notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** UTC. */
    expiresAt: text('expires_at').notNull(),
    state: text('state').$type<LoginRequestRecord['state']>().notNull(),
    /** JSON. */
    approval: text('approval', { mode: 'json' }).$type<LoginApproval>(),
  },
  (table) => [
    uniqueIndex('login_request_code').on(table.code),
    index('login_request_created_at').on(table.createdAt),
    index('login_request_network').on(table.network),
  ],
);
