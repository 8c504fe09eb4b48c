/**
 * Reads and writes tokens, sessions of operators, and settings that the registry makes itself.
 *
 * @module
 */

import {
  type Act,
  ANONYMOUS,
  actorName,
  type Revocation,
  type TokenRecord,
  type TokenStore,
} from '@krmhub/catalog';
import { KrmhubError, type RequestOrigin } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, gt, isNotNull, isNull, lt, or, sql } from 'drizzle-orm';
import { SERVER_LIMITS } from '../../../limits.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { refuseOutdated } from '../events/decided-through.js';
import { signIns, tokens, users } from '../schema/tokens.js';
import { RecentTokens } from './recent-tokens.js';
import { deleteUnusedSignIns, storedSignIn } from './sign-ins.js';
import { refuseSuspended, userRecord } from './user-record.js';

const columns = {
  token: tokens,
  user: users,
  signIn: { confirmedAt: signIns.confirmedAt, endedAt: signIns.endedAt },
};
const isOf = eq(users.id, tokens.user);
const isMadeIn = eq(signIns.id, tokens.signIn);
const byHash = query((db) =>
  db
    .select(columns)
    .from(tokens)
    .leftJoin(users, isOf)
    .leftJoin(signIns, isMadeIn)
    .where(eq(tokens.hash, sql.placeholder('hash'))),
);
const byId = query((db) =>
  db
    .select(columns)
    .from(tokens)
    .leftJoin(users, isOf)
    .leftJoin(signIns, isMadeIn)
    .where(eq(tokens.id, sql.placeholder('id'))),
);
const ofUser = query((db) =>
  db
    .select(columns)
    .from(tokens)
    .leftJoin(users, isOf)
    .leftJoin(signIns, isMadeIn)
    .where(eq(tokens.user, sql.placeholder('user')))
    .orderBy(asc(tokens.createdAt), asc(tokens.id)),
);
const runs = query((db) =>
  db
    .select(columns)
    .from(tokens)
    .leftJoin(users, isOf)
    .leftJoin(signIns, isMadeIn)
    .where(and(isNotNull(tokens.run), isNull(tokens.revokedAt), gt(tokens.expiresAt, sql.placeholder('at')))),
);
const all = query((db) =>
  db
    .select(columns)
    .from(tokens)
    .leftJoin(users, isOf)
    .leftJoin(signIns, isMadeIn)
    .orderBy(asc(tokens.createdAt), asc(tokens.id)),
);
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

const countUsable = text<{ count: number }>(
  `SELECT count(*) AS count FROM token
     WHERE user_id = :user AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :at)`,
);
const forgetUseless = text(
  `DELETE FROM token WHERE id IN (SELECT id FROM token
     WHERE user_id = :user AND (revoked_at IS NOT NULL OR expires_at <= :at)
     ORDER BY created_at DESC, id LIMIT 1000000 OFFSET :kept)`,
);

/** Everybody with an account at a provider can create personal tokens, so their number is limited. */
function* refuseTooMany(user: string, at: string): Work<void> {
  const max = SERVER_LIMITS.maxTokensOfUser;
  yield* forgetUseless.run({ user, at, kept: max });
  if (Number((yield* countUsable.first({ user, at }))?.count) < max) return;
  throw new KrmhubError('conflict', `the user has ${max} tokens, the limit`, {
    hint: 'Revoke those that are not used: krmhub token list, krmhub token revoke ID.',
  });
}

export function* insertToken(token: TokenRecord, hash: string, origin?: RequestOrigin): Work<void> {
  if (token.user !== undefined) {
    yield* refuseSuspended(token.user.id);
    yield* refuseTooMany(token.user.id, token.createdAt);
  }
  const signIn = yield* storedSignIn(token.signIn);
  // Else nobody would ask whether the user still has these rights.
  if (signIn === undefined && token.signIn !== undefined)
    throw new KrmhubError('conflict', 'the sign-in of the user has ended', { hint: 'Sign in again.' });
  const row = { ...token, user: token.user?.id, signIn: signIn?.id, signInKey: signIn?.key, hash };
  yield* change((db) => db.insert(tokens).values(row)).run();
  const { createdAt: at, createdBy: by, expiresAt } = token;
  const list = (values: readonly string[]) => values.join(' ');
  const limits = { groups: list(token.groups), repositories: list(token.repositories) };
  const [url, user] = [token.run?.url, token.user?.id];
  const detail = {
    name: token.name,
    scopes: list(token.scopes),
    ...limits,
    ...defined({ expiresAt, url, user }),
  };
  yield* appendAudit({ at, by, origin, action: 'token.create', ...about(token), detail });
}

/** Revokes the usable tokens of workflows that may publish a group or a function. */
export function* revokeRuns(target: string, { at, ...revocation }: Act & { reason: string }): Work<void> {
  for (const row of yield* runs.all({ at })) {
    // A token can be of several publishers.
    if (row.token.groups.includes(target)) yield* revokeTokenRow(row.token.id, at, revocation);
  }
}

const endLogins = text(`DELETE FROM login_request WHERE approval LIKE '%"' || :user || '"%'`);

/**
 * Ends what a user whom the directory removed can still have: tokens, and logins that would get one. They must not
 * work if the user comes back. Earlier versions left them, so they end then, too.
 */
export function* endCredentials(user: string, { at, ...act }: Act): Work<void> {
  yield* endLogins.run({ user });
  for (const { token } of yield* ofUser.all({ user })) {
    if (token.revokedAt !== null) continue;
    yield* revokeTokenRow(token.id, at, { ...act, reason: 'the directory removed the user' });
  }
  yield* deleteUnusedSignIns(at);
}

const about = ({ id }: Pick<TokenRecord, 'id'>) => ({ object: `token/${id}`, outcome: 'done' as const });

/** Returns the day (UTC) of a time. */
const day = (at: string) => at.slice(0, 10);

/** Returns the current token; undefined for an unknown ID. */
export function* revokeTokenRow(
  id: string,
  at: string,
  { by, reason, origin }: Revocation = {},
): Work<TokenRecord | undefined> {
  const isRevoked = (yield* revoke.run({ id, at, by: by ?? null, reason: reason ?? null })) > 0;
  const row = yield* byId.first({ id });
  if (row !== undefined && isRevoked) {
    if (row.signIn !== null) yield* deleteUnusedSignIns(at);
    const detail = { name: row.token.name, ...defined({ reason }) };
    const act = { at, by: by ?? ANONYMOUS.name, origin };
    yield* appendAudit({ ...act, action: 'token.revoke', ...about(row.token), detail });
  }
  return row && tokenRecord(row);
}

export function tokenRows(database: Sql): TokenStore {
  const { readOne } = database;
  const recent = RecentTokens.of(database);
  const { write } = recent;
  return {
    createToken: (token, hash, origin, decided) =>
      write(function* () {
        yield* refuseOutdated(decided);
        yield* insertToken(token, hash, origin);
      }),
    createFirstToken: (token, hash, isEnough) =>
      write(function* () {
        if ((yield* all.all()).map(tokenRecord).some(isEnough)) return false;
        yield* insertToken(token, hash);
        return true;
      }),
    tokenByHash: async (hash) =>
      (await recent.get(hash)) ??
      readOne(function* () {
        const row = yield* byHash.first({ hash });
        if (row === undefined) return undefined;
        const token = tokenRecord(row);
        recent.add(hash, token);
        return token;
      }),
    tokens: () =>
      readOne(function* () {
        return (yield* all.all()).map(tokenRecord);
      }),
    tokensOfUser: (user) =>
      readOne(function* () {
        return (yield* ofUser.all({ user })).map(tokenRecord);
      }),
    revokeToken: (id, at, revocation) => write(() => revokeTokenRow(id, at, revocation)),
    touchToken: (id, at, origin) =>
      write(function* () {
        const row = yield* byId.first({ id });
        if (row === undefined || (yield* touch.run({ id, at })) === 0) return;
        const token = tokenRecord(row);
        if (token.lastUsedAt !== undefined && day(token.lastUsedAt) === day(at)) return;
        yield* appendAudit({ at, by: actorName(token), origin, action: 'token.use', ...about(token) });
      }),
  };
}

interface TokenRow {
  token: typeof tokens.$inferSelect;
  user: typeof users.$inferSelect | null;
  signIn: Pick<typeof signIns.$inferSelect, 'confirmedAt' | 'endedAt'> | null;
}

function tokenRecord({ token, user, signIn }: TokenRow): TokenRecord {
  const {
    hash: _,
    user: __,
    signIn: id,
    signInKey: key,
    team,
    run,
    kind,
    expiresAt,
    lastUsedAt,
    revokedAt,
    revokedBy,
    revokedReason,
    ...rest
  } = token;
  return {
    ...rest,
    ...defined({
      user: user === null ? undefined : userRecord(user),
      signIn: tokenSignIn(id, key, signIn),
      team: team ?? undefined,
      run: run ?? undefined,
      kind: kind ?? undefined,
      expiresAt: expiresAt ?? undefined,
      lastUsedAt: lastUsedAt ?? undefined,
      revokedAt: revokedAt ?? undefined,
      revokedBy: revokedBy ?? undefined,
      revokedReason: revokedReason ?? undefined,
    }),
  };
}

function tokenSignIn(
  id: string | null,
  key: string | null,
  found: TokenRow['signIn'],
): TokenRecord['signIn'] {
  if (id === null || key === null || found === null) return undefined;
  return { id, key, confirmedAt: found.confirmedAt, ...defined({ endedAt: found.endedAt ?? undefined }) };
}
