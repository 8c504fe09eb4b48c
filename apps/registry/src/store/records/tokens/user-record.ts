import { ssoGroups, type UserRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { users } from '../schema/tokens.js';

/** By whom a user is suspended whom the directory says is not active. */
const DIRECTORY = 'the directory';

/** The groups are those of the last sign-in and those of the directory, which is behind the first provider. */
export function userRecord(row: typeof users.$inferSelect): UserRecord {
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
