/**
 * Reads and writes tokens, sessions of operators, and settings that the registry makes itself.
 *
 * @module
 */

import { ANONYMOUS, type TokenRecord, type TokenStore } from '@krmhub/catalog';
import type { RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, isNull, lt, or, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
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
    .set({
      revokedAt: sql`${sql.placeholder('at')}`,
      revokedBy: sql`${sql.placeholder('by')}`,
      revokedReason: sql`${sql.placeholder('reason')}`,
    })
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

export function* insertToken(token: TokenRecord, hash: string, origin?: RequestOrigin): Work<void> {
  yield* change((db) => db.insert(tokens).values({ ...token, hash })).run();
  const { createdAt: at, createdBy: by, expiresAt } = token;
  const list = (values: readonly string[]) => values.join(' ');
  const limits = { groups: list(token.groups), repositories: list(token.repositories) };
  const url = token.run?.url;
  const detail = { name: token.name, scopes: list(token.scopes), ...limits, ...defined({ expiresAt, url }) };
  yield* appendAudit({ at, by, origin, action: 'token.create', ...about(token), detail });
}

const about = ({ id }: Pick<TokenRecord, 'id'>) => ({ object: `token/${id}`, outcome: 'done' as const });

/** Returns the day (UTC) of a time. */
const day = (at: string) => at.slice(0, 10);

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
    createToken: (token, hash, origin) => write(() => insertToken(token, hash, origin)),
    createFirstToken: (token, hash, isEnough) =>
      write(function* () {
        if ((yield* all.all()).map(tokenRecord).some(isEnough)) return false;
        yield* insertToken(token, hash);
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
    revokeToken: (id, at, { by, reason, origin } = {}) =>
      write(function* () {
        const isRevoked = (yield* revoke.run({ id, at, by: by ?? null, reason: reason ?? null })) > 0;
        const row = yield* byId.first({ id });
        if (row !== undefined && isRevoked) {
          const detail = { name: row.name, ...defined({ reason }) };
          const act = { at, by: by ?? ANONYMOUS.name, origin };
          yield* appendAudit({ ...act, action: 'token.revoke', ...about(row), detail });
        }
        return row && tokenRecord(row);
      }),
    touchToken: (id, at, origin) =>
      write(function* () {
        const row = yield* byId.first({ id });
        if (row === undefined || (yield* touch.run({ id, at })) === 0) return;
        if (row.lastUsedAt !== null && day(row.lastUsedAt) === day(at)) return;
        yield* appendAudit({ at, by: row.name, origin, action: 'token.use', ...about(row) });
      }),
  };
}

function tokenRecord(row: typeof tokens.$inferSelect): TokenRecord {
  const { hash: _, team, run, expiresAt, lastUsedAt, revokedAt, revokedBy, revokedReason, ...rest } = row;
  return {
    ...rest,
    ...defined({
      team: team ?? undefined,
      run: run ?? undefined,
      expiresAt: expiresAt ?? undefined,
      lastUsedAt: lastUsedAt ?? undefined,
      revokedAt: revokedAt ?? undefined,
      revokedBy: revokedBy ?? undefined,
      revokedReason: revokedReason ?? undefined,
    }),
  };
}
