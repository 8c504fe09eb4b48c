import { defined } from '@krmhub/schema/defined';
import { desc, eq, sql } from 'drizzle-orm';
import type { SealedSecret, SessionRecord, SessionStore } from '../../session-store.js';
import { inserter } from '../../sql/insert.js';
import type { Sql } from '../../sql/sql.js';
import { query, text } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { oneTimeSecrets, operatorSessions } from '../schema/sessions.js';
import { signIns } from '../schema/tokens.js';
import { deleteUnusedSignIns, insertSignIn, storedSignIn } from './sign-ins.js';
import { refuseSuspended } from './user-record.js';

const deleteExpired = text('DELETE FROM operator_session WHERE expires_at <= :now');
const deleteOldestOfOne = text(
  `DELETE FROM operator_session WHERE id IN (SELECT id FROM operator_session
     WHERE token_hash = :tokenHash OR user_id = :user ORDER BY id DESC LIMIT 1000000 OFFSET :others)`,
);
// Of users of the same provider, or of tokens: no provider can sign out those of another one, or an administrator.
const deleteOldest = text(
  `DELETE FROM operator_session WHERE id IN (SELECT operator_session.id FROM operator_session
     LEFT JOIN registry_user ON registry_user.id = user_id
     WHERE coalesce(issuer, '') = coalesce((SELECT issuer FROM registry_user WHERE id = :user), '')
     ORDER BY operator_session.id DESC LIMIT 1000000 OFFSET :others)`,
);
const insertSession = inserter(operatorSessions);
const columns = { session: operatorSessions, confirmedAt: signIns.confirmedAt };
const isOf = eq(signIns.id, operatorSessions.signIn);
const byHash = query((db) =>
  db
    .select(columns)
    .from(operatorSessions)
    .leftJoin(signIns, isOf)
    .where(eq(operatorSessions.hash, sql.placeholder('hash'))),
);
const ofUser = query((db) =>
  db
    .select(columns)
    .from(operatorSessions)
    .leftJoin(signIns, isOf)
    .where(eq(operatorSessions.user, sql.placeholder('user')))
    .orderBy(desc(operatorSessions.id)),
);
const deleteOthers = text('DELETE FROM operator_session WHERE user_id = :user AND hash <> :except');
const deleteSession = text('DELETE FROM operator_session WHERE hash = :hash');
const deleteExpiredSecrets = text('DELETE FROM one_time_secret WHERE expires_at <= :now');
const deleteOldestSecrets = text(
  `DELETE FROM one_time_secret WHERE id IN (SELECT id FROM one_time_secret WHERE session = :id
     ORDER BY id DESC LIMIT 1000000 OFFSET :others)`,
);
const insertSecret = inserter(oneTimeSecrets);
const takeSecret = text<SealedSecret>(
  `DELETE FROM one_time_secret WHERE token = :token
     AND session = (SELECT id FROM operator_session WHERE hash = :session)
   RETURNING sealed, expires_at AS "expiresAt"`,
);

interface SessionRow {
  session: typeof operatorSessions.$inferSelect;
  confirmedAt: string | null;
}

export function sessionRows({ read, write }: Sql): SessionStore {
  return {
    beginSession: ({ signIn, ...session }, { maxOfOne, max, replaces }, act, newSignIn) =>
      write(function* () {
        const { tokenHash = null, user = null } = session;
        if (user !== null) yield* refuseSuspended(user);
        if (replaces !== undefined) yield* deleteSession.run({ hash: replaces });
        yield* deleteExpired.run({ now: act.at });
        yield* deleteOldestOfOne.run({ tokenHash, user, others: maxOfOne - 1 });
        yield* deleteOldest.run({ user, others: max - 1 });
        if (newSignIn !== undefined) yield* insertSignIn(newSignIn);
        const stored = yield* storedSignIn(signIn);
        yield* insertSession({ ...session, signIn: stored?.id, signInKey: stored?.key });
        yield* deleteUnusedSignIns(act.at);
        yield* appendAudit({ ...act, action: 'operator.sign-in', object: 'operate', outcome: 'done' });
      }),
    session: (hash) =>
      read(function* () {
        const row = yield* byHash.first({ hash });
        return row && sessionRecord(row);
      }),
    sessionsOfUser: (user) =>
      read(function* () {
        return (yield* ofUser.all({ user })).map(sessionRecord);
      }),
    endSession: (hash, act) =>
      write(function* () {
        if ((yield* deleteSession.run({ hash })) === 0 || act === undefined) return;
        yield* deleteUnusedSignIns(act.at);
        yield* appendAudit({ ...act, action: 'operator.sign-out', object: 'operate', outcome: 'done' });
      }),
    endSessionsOfUser: (user, act, except = '') =>
      write(function* () {
        const count = yield* deleteOthers.run({ user, except });
        yield* deleteUnusedSignIns(act.at);
        const detail = { sessions: count };
        const ended = { action: 'session.end' as const, object: `user/${user}`, outcome: 'done' as const };
        if (count > 0) yield* appendAudit({ ...act, ...ended, detail });
        return count;
      }),
    putSecret: ({ session, token }, secret, { now, max }) =>
      write(function* () {
        yield* deleteExpiredSecrets.run({ now });
        const row = yield* byHash.first({ hash: session });
        if (row === undefined) return;
        yield* deleteOldestSecrets.run({ id: row.session.id, others: max - 1 });
        yield* insertSecret({ session: row.session.id, token, ...secret });
      }),
    takeSecret: (place) =>
      write(function* () {
        return yield* takeSecret.first(place);
      }),
  };
}

function sessionRecord({ session: row, confirmedAt }: SessionRow): SessionRecord {
  const { hash, tokenHash, user, createdAt, expiresAt, signIn: id, signInKey: key, address } = row;
  return {
    ...{ hash, createdAt, expiresAt },
    ...defined({
      tokenHash: tokenHash ?? undefined,
      user: user ?? undefined,
      signIn: id === null || key === null ? undefined : { id, key },
      confirmedAt: confirmedAt ?? undefined,
      address: address ?? undefined,
    }),
  };
}
