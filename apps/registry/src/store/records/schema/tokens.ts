import type { WorkflowRun } from '@krmhub/catalog';
import { sql } from 'drizzle-orm';
import { index, sqliteTable, text, unique, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** People who signed in, or whom a directory announced. */
export const users = sqliteTable(
  'registry_user',
  {
    id: text('id').primaryKey(),
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    name: text('name').notNull(),
    email: text('email'),
    /** JSON list, as an Access document has the groups. */
    groups: text('groups', { mode: 'json' }).$type<string[]>().notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    /** UTC. */
    confirmedAt: text('confirmed_at').notNull(),
    /** UTC. */
    signedInAt: text('signed_in_at'),
    /** UTC. */
    suspendedAt: text('suspended_at'),
    suspendedBy: text('suspended_by'),
    /** JSON list of the groups in the directory that manages the user. */
    directoryGroups: text('directory_groups', { mode: 'json' }).$type<string[]>(),
    /** Since when the directory says that the user is not active. UTC. */
    directorySuspendedAt: text('directory_suspended_at'),
  },
  (table) => [uniqueIndex('registry_user_identity').on(table.issuer, table.subject)],
);

/** What identity providers gave when users signed in. */
export const signIns = sqliteTable('sign_in', {
  id: text('id').primaryKey(),
  user: text('user_id')
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** Encrypted with a key that is not stored. Empty after the sign-in ended. */
  sealed: text('sealed').notNull(),
  /** UTC. */
  createdAt: text('created_at').notNull(),
  /** UTC. */
  confirmedAt: text('confirmed_at').notNull(),
  /** UTC. */
  endedAt: text('ended_at'),
});

export const tokens = sqliteTable(
  'token',
  {
    id: text('id').primaryKey(),
    /** SHA-256 of the secret, hexadecimal. */
    hash: text('hash').notNull(),
    name: text('name').notNull(),
    /** JSON list. */
    scopes: text('scopes', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON list of globs. */
    groups: text('groups', { mode: 'json' }).$type<string[]>().notNull(),
    /** UTC. */
    createdAt: text('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    /** UTC. */
    expiresAt: text('expires_at'),
    /** UTC. */
    lastUsedAt: text('last_used_at'),
    /** UTC. */
    revokedAt: text('revoked_at'),
    revokedReason: text('revoked_reason'),
    revokedBy: text('revoked_by'),
    /** JSON list of globs over repositories of artifacts. */
    repositories: text('repositories', { mode: 'json' }).$type<string[]>().notNull().default([]),
    /** The team whose rights bound those of the token. */
    team: text('team'),
    /** JSON of the run of a workflow for which the registry made the token. */
    run: text('run', { mode: 'json' }).$type<WorkflowRun>(),
    /** ID of the user whose rights bound those of the token. */
    user: text('user_id').references(() => users.id),
    /** ID of the sign-in in which the token was made. */
    signIn: text('sign_in').references(() => signIns.id, { onDelete: 'set null' }),
    /** The key of the sign-in, encrypted with a key that follows from the secret of the token. */
    signInKey: text('sign_in_key'),
    /** `login`: a user got it with `krmhub login`. NULL for all others, and of earlier versions. */
    kind: text('kind').$type<'login'>(),
  },
  (table) => [
    unique('token_hash').on(table.hash),
    index('token_user').on(table.user).where(sql`"user_id" IS NOT NULL`),
    index('token_sign_in').on(table.signIn).where(sql`"sign_in" IS NOT NULL`),
  ],
);
