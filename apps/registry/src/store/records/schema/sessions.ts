import { sql } from 'drizzle-orm';
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { SettingName } from '../../setting-store.js';
import { signIns, users } from './tokens.js';

/** What the processes of a registry agree on. */
export const settings = sqliteTable('setting', {
  name: text('name').$type<SettingName>().primaryKey(),
  value: text('value').notNull(),
});

/** Sessions on the pages of operators, the oldest first. */
export const operatorSessions = sqliteTable(
  'operator_session',
  {
    id: integer('id').primaryKey(),
    /** SHA-256 of the session's ID, hexadecimal. */
    hash: text('hash').notNull(),
    tokenHash: text('token_hash'),
    user: text('user_id').references(() => users.id, { onDelete: 'cascade' }),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** UTC. */
    expiresAt: text('expires_at').notNull(),
    address: text('address'),
    signIn: text('sign_in').references(() => signIns.id, { onDelete: 'cascade' }),
    /** The key of the sign-in, encrypted with a key that follows from the session's ID. */
    signInKey: text('sign_in_key'),
  },
  (table) => [
    uniqueIndex('operator_session_hash').on(table.hash),
    index('operator_session_sign_in').on(table.signIn).where(sql`"sign_in" IS NOT NULL`),
  ],
);

/** Secrets of new tokens that wait for the page that shows them, the oldest first. */
export const oneTimeSecrets = sqliteTable(
  'one_time_secret',
  {
    id: integer('id').primaryKey(),
    session: integer('session')
      .notNull()
      .references(() => operatorSessions.id, { onDelete: 'cascade' }),
    /** ID of the new token. */
    token: text('token').notNull(),
    /** Encrypted with a key that follows from the session's ID. */
    sealed: text('sealed').notNull(),
    /** UTC. */
    expiresAt: text('expires_at').notNull(),
  },
  (table) => [uniqueIndex('one_time_secret_token').on(table.session, table.token)],
);
