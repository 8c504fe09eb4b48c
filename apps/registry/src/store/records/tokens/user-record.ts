import { ssoGroups, type UserRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { eq, sql } from 'drizzle-orm';
import { query, type Work } from '../../sql/statement.js';
import { users } from '../schema/tokens.js';

type UserRow = typeof users.$inferSelect;

export const userById = query((db) =>
  db
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('id'))),
);

/** By whom a user is suspended whom the directory says is not active. */
const DIRECTORY = 'the directory';

/** The groups are those of the last sign-in and those of the directory, which is behind the first provider. */
export function userRecord(row: UserRow): UserRecord {
  const { email, signedInAt, suspendedAt, suspendedBy, directoryGroups, directorySuspendedAt, ...rest } = row;
  const { issuer, groups } = rest;
  const isManaged = directoryGroups !== null;
  const ofDirectory = ssoGroups({ issuer, isFirst: true }, directoryGroups ?? []);
  return {
    ...rest,
    groups: isManaged ? [...new Set([...groups, ...ofDirectory])].sort() : groups,
    ...defined({
      email: email ?? undefined,
      signedInAt: signedInAt ?? undefined,
      suspendedAt: suspendedAt ?? directorySuspendedAt ?? undefined,
      suspendedBy: suspendedBy ?? (directorySuspendedAt === null ? undefined : DIRECTORY),
      directory: isManaged ? { isActive: directorySuspendedAt === null, groups: ofDirectory } : undefined,
    }),
  };
}

/** Whether the directory removed a user, who was not restored since. */
export function wasRemoved({ directorySuspendedAt, directoryGroups }: UserRow): boolean {
  return directorySuspendedAt !== null && directoryGroups === null;
}

/** Rejects with `forbidden` if a user is suspended now: the caller can have read the user before. */
export function* refuseSuspended(id: string): Work<void> {
  const row = yield* userById.first({ id });
  const user = row && userRecord(row);
  if (user?.suspendedAt === undefined) return;
  throw new KrmhubError('forbidden', `the user "${user.name}" is suspended`, {
    hint: 'Ask an administrator of this registry.',
  });
}
