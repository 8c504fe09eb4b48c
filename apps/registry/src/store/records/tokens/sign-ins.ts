import { defined } from '@krmhub/schema/defined';
import { eq, sql } from 'drizzle-orm';
import type { SignInRecord, SignInStore } from '../../sign-in-store.js';
import { inserter } from '../../sql/insert.js';
import type { Sql } from '../../sql/sql.js';
import { query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { signIns } from '../schema/tokens.js';
import { RecentTokens } from './recent-tokens.js';

export const insertSignIn = inserter(signIns);
const byId = query((db) =>
  db
    .select()
    .from(signIns)
    .where(eq(signIns.id, sql.placeholder('id'))),
);
const replace = text(
  `UPDATE sign_in SET sealed = :sealed, confirmed_at = coalesce(:confirmedAt, confirmed_at)
     WHERE id = :id AND sealed = :replaces AND ended_at IS NULL`,
);
const endSessions = text('DELETE FROM operator_session WHERE sign_in = :id');
const end = text(`UPDATE sign_in SET sealed = '', ended_at = :at WHERE id = :id AND ended_at IS NULL`);
const remove = text('DELETE FROM sign_in WHERE id = :id AND ended_at IS NULL');
// The inner query reads only indexes, not the sealed texts.
const deleteUnused = text(
  `DELETE FROM sign_in WHERE id IN (SELECT one.id FROM sign_in one
     WHERE NOT EXISTS (SELECT 1 FROM operator_session
       WHERE operator_session.sign_in = one.id AND operator_session.expires_at > :now)
     AND NOT EXISTS (SELECT 1 FROM token WHERE token.sign_in = one.id AND token.revoked_at IS NULL
       AND (token.expires_at IS NULL OR token.expires_at > :now))
     AND NOT EXISTS (SELECT 1 FROM login_request WHERE login_request.sign_in = one.id
       AND login_request.state = 'approved' AND login_request.expires_at > :now))`,
);

/** Deletes sign-ins to which no session, usable token, or waiting login refers. */
export function* deleteUnusedSignIns(now: string): Work<void> {
  yield* deleteUnused.run({ now });
}

/** Returns the sign-in if it is stored, so that a row can refer to it. */
export function* storedSignIn<SignIn extends { id: string }>(
  signIn: SignIn | undefined,
): Work<SignIn | undefined> {
  return signIn !== undefined && (yield* byId.first({ id: signIn.id })) !== undefined ? signIn : undefined;
}

export function signInRows(database: Sql): SignInStore {
  const { write } = RecentTokens.of(database);
  return {
    signIn: (id) =>
      database.readOne(function* () {
        const row = yield* byId.first({ id });
        return row && signInRecord(row);
      }),
    replaceSignIn: (id, { confirmedAt = null, ...change }) =>
      write(function* () {
        return (yield* replace.run({ id, confirmedAt, ...change })) > 0;
      }),
    endSignIn: (id, { keepsTokens }, { reason, ...act }) =>
      write(function* () {
        const row = yield* byId.first({ id });
        const sessions = yield* endSessions.run({ id });
        const isEnded = (yield* keepsTokens ? remove.run({ id }) : end.run({ id, at: act.at })) > 0;
        if (row === undefined || !isEnded) return;
        const about = {
          action: 'session.end' as const,
          object: `user/${row.user}`,
          outcome: 'done' as const,
        };
        yield* appendAudit({ ...act, ...about, detail: { reason, sessions } });
      }),
  };
}

function signInRecord({ endedAt, ...row }: typeof signIns.$inferSelect): SignInRecord {
  return { ...row, ...defined({ endedAt: endedAt ?? undefined }) };
}
