import { randomUUID } from 'node:crypto';
import type { UserRecord, UserStore } from '@krmhub/catalog';
import { foldCase, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { users } from '../schema/tokens.js';
import { RecentTokens } from './recent-tokens.js';
import { endCredentials } from './tokens.js';
import { userById, userRecord, wasRemoved } from './user-record.js';

export const userByIdentity = query((db) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.issuer, sql.placeholder('issuer')), eq(users.subject, sql.placeholder('subject')))),
);
const page = query((db) =>
  db
    .select()
    .from(users)
    .where(gt(users.id, sql.placeholder('after')))
    .orderBy(asc(users.id))
    .limit(sql.placeholder('limit')),
);
/** Users who added themselves: not those of a directory, and not suspended ones. */
const countOwn = text<{ total: number }>(`SELECT count(*) AS total FROM registry_user
  WHERE issuer = :issuer AND directory_groups IS NULL AND suspended_at IS NULL AND directory_suspended_at IS NULL`);
const suspend = text('UPDATE registry_user SET suspended_at = :at, suspended_by = :by WHERE id = :id');
const restoreReleased = text('UPDATE registry_user SET directory_suspended_at = NULL WHERE id = :id');
export const endSessions = text('DELETE FROM operator_session WHERE user_id = :id');

/** Users that a search reads at once: the databases do not agree on the case of letters. */
const SCANNED_USERS = 1_000;

function* refuseFull(issuer: string, maxUsers: number): Work<void> {
  if (Number((yield* countOwn.first({ issuer }))!.total) < maxUsers) return;
  const message = `the registry has ${maxUsers} users of this identity provider, the limit, and takes no new one`;
  throw new KrmhubError('forbidden', message, {
    hint: 'Ask its operator to raise KRMHUB_MAX_USERS.',
  });
}

function hasText({ name, email = '' }: UserRecord, text: string): boolean {
  return foldCase(`${name}\n${email}`).includes(foldCase(text));
}

export function userRows(database: Sql): UserStore {
  const { read, readOne } = database;
  const { write } = RecentTokens.of(database);
  return {
    confirmUser: ({ issuer, subject, name, email, groups }, { at, isSignIn, maxUsers }) =>
      write(function* () {
        const row = yield* userByIdentity.first({ issuer, subject });
        const said = { name, email: email ?? null, groups: [...groups], confirmedAt: at };
        const found = { ...said, ...defined({ signedInAt: isSignIn ? at : undefined }) };
        const id = row?.id ?? randomUUID();
        if (row === undefined) {
          if (maxUsers !== undefined) yield* refuseFull(issuer, maxUsers);
          const added = { ...found, id, issuer, subject, createdAt: at };
          yield* change((db) => db.insert(users).values(added)).run();
        } else yield* change((db) => db.update(users).set(found).where(eq(users.id, id))).run();
        return userRecord((yield* userById.first({ id }))!);
      }),
    user: (id) =>
      readOne(function* () {
        const row = yield* userById.first({ id });
        return row && userRecord(row);
      }),
    users: ({ after = '', limit, text = '' }) =>
      read(function* () {
        const found: UserRecord[] = [];
        for (let last = after; ; ) {
          const rows = yield* page.all({ after: last, limit: text === '' ? limit : SCANNED_USERS });
          found.push(...rows.map(userRecord).filter((user) => hasText(user, text)));
          if (text === '' || found.length >= limit || rows.length < SCANNED_USERS)
            return found.slice(0, limit);
          last = rows.at(-1)!.id;
        }
      }),
    suspendUser: (id, isSuspended, { at, by, origin }) =>
      write(function* () {
        const row = yield* userById.first({ id });
        if (row === undefined) return undefined;
        // The directory restores whom it suspended, unless it does not manage the user any more.
        const isReleased = wasRemoved(row);
        const isChanged = isSuspended ? row.suspendedAt === null : row.suspendedAt !== null || isReleased;
        if (!isChanged) return userRecord(row);
        yield* suspend.run(isSuspended ? { id, at, by } : { id, at: null, by: null });
        if (!isSuspended && isReleased) {
          yield* endCredentials(id, { at, by, origin });
          yield* restoreReleased.run({ id });
        }
        if (isSuspended) yield* endSessions.run({ id });
        const action = isSuspended ? 'user.suspend' : 'user.restore';
        const detail = { name: row.name, issuer: row.issuer, subject: row.subject };
        yield* appendAudit({ at, by, origin, action, object: `user/${id}`, outcome: 'done', detail });
        return userRecord((yield* userById.first({ id }))!);
      }),
  };
}
