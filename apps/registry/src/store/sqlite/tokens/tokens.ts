import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { attempt } from '../errors.js';
import { prepared } from '../prepared.js';
import { tokens } from '../schema/schema.js';

const MAX_RECENT_TOKENS = 1_000;

export function tokenRows({ client, db, read, write }: Connection): TokenStore {
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
  // Tokens of recent requests by hash: nearly all requests that change something are made with a few tokens. Changes
  // by this connection forget them, and changes of any table by others change the version.
  const recent = new Map<string, TokenRecord>();
  const versionOfOthers = prepared(() => client.prepare<[], number>('PRAGMA data_version').pluck());
  let version: number | undefined;
  const recentToken = (hash: string): TokenRecord | undefined => {
    const current = versionOfOthers.get();
    if (current !== version) recent.clear();
    version = current;
    return recent.get(hash);
  };
  const change = <Result>(work: () => Result): Promise<Result> =>
    write(() => {
      recent.clear();
      return work();
    });
  return {
    createToken: (token, hash) =>
      change(() => {
        db.insert(tokens)
          .values({ ...token, hash })
          .run();
      }),
    tokenByHash: async (hash) =>
      (await attempt(() => recentToken(hash))) ??
      read(() => {
        const row = byHash.get({ hash });
        if (row === undefined) return undefined;
        const token = tokenRecord(row);
        if (recent.size < MAX_RECENT_TOKENS) recent.set(hash, token);
        return token;
      }),
    tokens: () => read(() => all.all().map(tokenRecord)),
    revokeToken: (id, at, reason) =>
      change(() => {
        // Only the first revocation counts.
        db.update(tokens)
          .set({ revokedAt: at, revokedReason: reason ?? null })
          .where(and(eq(tokens.id, id), isNull(tokens.revokedAt)))
          .run();
        const row = byId.get({ id });
        return row && tokenRecord(row);
      }),
    touchToken: (id, at) =>
      change(() => {
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
