/**
 * Reads and writes tokens, sessions of operators, and settings that the registry makes itself.
 *
 * @module
 */

import type { TokenRecord, TokenStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, type Work } from '../../sql/statement.js';
import { tokens } from '../schema/schema.js';

const byHash = query((db) =>
  db
    .select()
    .from(tokens)
    .where(eq(tokens.hash, sql.placeholder('hash'))),
);
const byId = query((db) =>
  db
    .select()
    .from(tokens)
    .where(eq(tokens.id, sql.placeholder('id'))),
);
const all = query((db) => db.select().from(tokens).orderBy(asc(tokens.createdAt), asc(tokens.id)));
// Only the first revocation counts.
const revoke = change((db) =>
  db
    .update(tokens)
    .set({ revokedAt: sql`${sql.placeholder('at')}`, revokedReason: sql`${sql.placeholder('reason')}` })
    .where(and(eq(tokens.id, sql.placeholder('id')), isNull(tokens.revokedAt))),
);
const touch = change((db) =>
  db
    .update(tokens)
    .set({ lastUsedAt: sql`${sql.placeholder('at')}` })
    .where(
      and(
        eq(tokens.id, sql.placeholder('id')),
        or(isNull(tokens.lastUsedAt), lt(tokens.lastUsedAt, sql.placeholder('at'))),
      ),
    ),
);

const insert = (token: TokenRecord, hash: string) =>
  change((db) => db.insert(tokens).values({ ...token, hash }));

const MAX_RECENT_TOKENS = 1_000;

export function tokenRows(database: Sql): TokenStore {
  const { readOne } = database;
  // Tokens of recent requests by hash: nearly all requests that change something are made with a few tokens. Changes
  // by this connection forget them, and changes of any table by others change the version. A database that cannot tell
  // that others changed it is asked at each request.
  const recent = new Map<string, TokenRecord>();
  let version: unknown;
  const recentToken = async (hash: string): Promise<TokenRecord | undefined> => {
    const current = await database.versionOfOthers?.();
    if (current !== version) recent.clear();
    version = current;
    return recent.get(hash);
  };
  const write = <Result>(work: () => Work<Result>): Promise<Result> =>
    database.write(() => {
      recent.clear();
      return work();
    });
  return {
    createToken: (token, hash) =>
      write(function* () {
        yield* insert(token, hash).run();
      }),
    createFirstToken: (token, hash, isEnough) =>
      write(function* () {
        if ((yield* all.all()).map(tokenRecord).some(isEnough)) return false;
        yield* insert(token, hash).run();
        return true;
      }),
    tokenByHash: async (hash) =>
      (await recentToken(hash)) ??
      readOne(function* () {
        const row = yield* byHash.first({ hash });
        if (row === undefined) return undefined;
        const token = tokenRecord(row);
        if (database.versionOfOthers && recent.size < MAX_RECENT_TOKENS) recent.set(hash, token);
        return token;
      }),
    tokens: () =>
      readOne(function* () {
        return (yield* all.all()).map(tokenRecord);
      }),
    revokeToken: (id, at, reason) =>
      write(function* () {
        yield* revoke.run({ id, at, reason: reason ?? null });
        const row = yield* byId.first({ id });
        return row && tokenRecord(row);
      }),
    touchToken: (id, at) =>
      write(function* () {
        yield* touch.run({ id, at });
      }),
  };
}

function tokenRecord(row: typeof tokens.$inferSelect): TokenRecord {
  const { hash: _, team, expiresAt, lastUsedAt, revokedAt, revokedReason, ...rest } = row;
  return {
    ...rest,
    ...defined({
      team: team ?? undefined,
      expiresAt: expiresAt ?? undefined,
      lastUsedAt: lastUsedAt ?? undefined,
      revokedAt: revokedAt ?? undefined,
      revokedReason: revokedReason ?? undefined,
    }),
  };
}
