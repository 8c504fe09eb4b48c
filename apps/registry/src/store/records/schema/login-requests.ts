import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { LoginApproval, LoginRequestRecord } from '../../login-store.js';
import { signIns } from './tokens.js';

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
    /** The program's secret has the private key. */
    publicKey: text('public_key').notNull(),
    /** ID of the sign-in of the user who allowed it. */
    signIn: text('sign_in').references(() => signIns.id, { onDelete: 'cascade' }),
    /** The key of the sign-in, encrypted for the public key. */
    signInKey: text('sign_in_key'),
  },
  (table) => [
    uniqueIndex('login_request_code').on(table.code),
    index('login_request_created_at').on(table.createdAt),
    index('login_request_network').on(table.network),
    index('login_request_sign_in').on(table.signIn).where(sql`"sign_in" IS NOT NULL`),
  ],
);
