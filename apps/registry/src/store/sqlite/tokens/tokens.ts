import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { tokens } from '../schema/schema.js';

export function tokenRows({ db, read, write }: Connection): TokenStore {
  const byHash = prepared(() =>
    db
      .select()
      .from(tokens)
      .where(eq(tokens.hash, sql.placeholder('hash')))
      .prepare(),
  );
  const byId = prepared(() =>
    db
      .select()
      .from(tokens)
      .where(eq(tokens.id, sql.placeholder('id')))
      .prepare(),
  );
  const all = prepared(() =>
    db.select().from(tokens).orderBy(asc(tokens.createdAt), asc(tokens.id)).prepare(),
  );
  return {
    createToken: (token, hash) =>
      write(() => {
        db.insert(tokens)
          .values({ ...token, hash })
          .run();
      }),
    tokenByHash: (hash) =>
      read(() => {
        const row = byHash.get({ hash });
        return row && tokenRecord(row);
      }),
    tokens: () => read(() => all.all().map(tokenRecord)),
    revokeToken: (id, at, reason) =>
      write(() => {
        // Only the first revocation counts.
        db.update(tokens)
          .set({ revokedAt: at, revokedReason: reason ?? null })
          .where(and(eq(tokens.id, id), isNull(tokens.revokedAt)))
          .run();
        const row = byId.get({ id });
        return row && tokenRecord(row);
      }),
    touchToken: (id, at) =>
      write(() => {
        db.update(tokens)
          .set({ lastUsedAt: at })
          .where(and(eq(tokens.id, id), or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, at))))
          .run();
      }),
  };
}

function tokenRecord(row: typeof tokens.$inferSelect): TokenRecord {
  const { hash: _, expiresAt, lastUsedAt, revokedAt, revokedReason, ...rest } = row;
  return {
    ...rest,
    ...(expiresAt !== null && { expiresAt }),
    ...(lastUsedAt !== null && { lastUsedAt }),
    ...(revokedAt !== null && { revokedAt }),
    ...(revokedReason !== null && { revokedReason }),
  };
}
