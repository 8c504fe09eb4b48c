import { index, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { UserAttributes } from '../../directory-store.js';
import { users } from './tokens.js';

/** Users that a directory announced. */
export const directoryUsers = sqliteTable(
  'scim_user',
  {
    id: text('id').primaryKey(),
    user: text('user_id')
      .notNull()
      .references(() => users.id),
    issuer: text('issuer').notNull(),
    userName: text('user_name').notNull(),
    /** The name with folded case. */
    userNameKey: text('user_name_key').notNull(),
    externalId: text('external_id'),
    /** JSON. */
    attributes: text('attributes', { mode: 'json' }).$type<UserAttributes>().notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** UTC. */
    changedAt: text('changed_at').notNull(),
  },
  (table) => [
    uniqueIndex('scim_user_user').on(table.user),
    uniqueIndex('scim_user_name').on(table.issuer, table.userNameKey),
    index('scim_user_external_id').on(table.issuer, table.externalId),
  ],
);

/** Groups of a directory. */
export const directoryGroups = sqliteTable(
  'scim_group',
  {
    id: text('id').primaryKey(),
    issuer: text('issuer').notNull(),
    name: text('name').notNull(),
    /** The name with folded case. */
    nameKey: text('name_key').notNull(),
    externalId: text('external_id'),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** UTC. */
    changedAt: text('changed_at').notNull(),
  },
  (table) => [
    uniqueIndex('scim_group_name').on(table.issuer, table.nameKey),
    index('scim_group_external_id').on(table.issuer, table.externalId),
  ],
);

export const directoryMembers = sqliteTable(
  'scim_member',
  {
    group: text('group_id')
      .notNull()
      .references(() => directoryGroups.id, { onDelete: 'cascade' }),
    member: text('member_id')
      .notNull()
      .references(() => directoryUsers.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.group, table.member] }),
    index('scim_member_user').on(table.member),
  ],
);
