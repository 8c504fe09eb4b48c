import type { SealedSecret, SessionRecord, SessionStore } from '../../session-store.js';
import { inserter } from '../../sql/insert.js';
import type { Sql } from '../../sql/sql.js';
import { text } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { oneTimeSecrets, operatorSessions } from '../schema/sessions.js';

const deleteExpired = text('DELETE FROM operator_session WHERE expires_at <= :now');
const deleteOldestOfToken = text(
  `DELETE FROM operator_session WHERE id IN (SELECT id FROM operator_session WHERE token_hash = :tokenHash
     ORDER BY id DESC LIMIT 1000000 OFFSET :others)`,
);
const deleteOldest = text(
  `DELETE FROM operator_session WHERE id IN (SELECT id FROM operator_session
     ORDER BY id DESC LIMIT 1000000 OFFSET :others)`,
);
const insertSession = inserter(operatorSessions);
const byHash = text<SessionRecord & { id: number }>(
  `SELECT id, hash, token_hash AS "tokenHash", expires_at AS "expiresAt" FROM operator_session WHERE hash = :hash`,
);
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

export function sessionRows({ read, write }: Sql): SessionStore {
  return {
    beginSession: (session, { maxOfToken, max }, act) =>
      write(function* () {
        yield* deleteExpired.run({ now: act.at });
        yield* deleteOldestOfToken.run({ tokenHash: session.tokenHash, others: maxOfToken - 1 });
        yield* deleteOldest.run({ others: max - 1 });
        yield* insertSession(session);
        yield* appendAudit({ ...act, action: 'operator.sign-in', object: 'operate', outcome: 'done' });
      }),
    session: (hash) =>
      read(function* () {
        const row = yield* byHash.first({ hash });
        if (row === undefined) return undefined;
        const { id: _, ...session } = row;
        return session;
      }),
    endSession: (hash, act) =>
      write(function* () {
        if ((yield* deleteSession.run({ hash })) === 0 || act === undefined) return;
        yield* appendAudit({ ...act, action: 'operator.sign-out', object: 'operate', outcome: 'done' });
      }),
    putSecret: ({ session, token }, secret, { now, max }) =>
      write(function* () {
        yield* deleteExpiredSecrets.run({ now });
        const row = yield* byHash.first({ hash: session });
        if (row === undefined) return;
        yield* deleteOldestSecrets.run({ id: row.id, others: max - 1 });
        yield* insertSecret({ session: row.id, token, ...secret });
      }),
    takeSecret: (place) =>
      write(function* () {
        return yield* takeSecret.first(place);
      }),
  };
}
