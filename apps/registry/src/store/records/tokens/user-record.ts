import type { UserRecord } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import type { users } from '../schema/tokens.js';

export function userRecord(row: typeof users.$inferSelect): UserRecord {
  const { email, signedInAt, suspendedAt, suspendedBy, ...rest } = row;
  return {
    ...rest,
    ...defined({
      email: email ?? undefined,
      signedInAt: signedInAt ?? undefined,
      suspendedAt: suspendedAt ?? undefined,
      suspendedBy: suspendedBy ?? undefined,
    }),
  };
}
