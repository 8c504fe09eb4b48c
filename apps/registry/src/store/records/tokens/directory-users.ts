import { randomUUID } from 'node:crypto';
import type { Act, AuditDetail } from '@krmhub/catalog';
import { type AuditAction, foldCase, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { eq } from 'drizzle-orm';
import {
  type DirectoryLimits,
  type DirectoryUser,
  type DirectoryUserFields,
  type DirectoryUserStore,
  shownUser,
  subjectOf,
} from '../../directory-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { directoryUsers } from '../schema/directory.js';
import { users } from '../schema/tokens.js';
import { listStatements, listValues } from './directory-filter.js';
import { updateDirectoryGroups } from './directory-groups.js';
import { RecentTokens } from './recent-tokens.js';
import { endCredentials } from './tokens.js';
import { userById, wasRemoved } from './user-record.js';
import { endSessions, userByIdentity } from './users.js';

type UserRow = typeof users.$inferSelect;

const COLUMNS = `scim_user.id AS id, user_id AS "user", user_name AS "userName", external_id AS "externalId", attributes,
  scim_user.created_at AS "createdAt", changed_at AS "changedAt",
  CASE WHEN directory_suspended_at IS NULL THEN 1 ELSE 0 END AS "isActive"`;
const FROM =
  'FROM scim_user JOIN registry_user ON registry_user.id = user_id WHERE scim_user.issuer = :issuer';

interface Row extends Omit<DirectoryUser, 'externalId' | 'attributes' | 'isActive'> {
  externalId: string | null;
  attributes: string;
  isActive: number;
}

const lists = listStatements<Row>(COLUMNS, FROM, {
  id: 'scim_user.id',
  name: 'user_name_key',
  externalId: 'external_id',
});
const byUser = text<{ id: string }>('SELECT id FROM scim_user WHERE user_id = :user');
const remove = text('DELETE FROM scim_user WHERE id = :id');
const countAll = text<{ total: number }>('SELECT count(*) AS total FROM scim_user WHERE issuer = :issuer');

export function directoryUserRows(database: Sql): DirectoryUserStore {
  const { read, readOne } = database;
  const { write } = RecentTokens.of(database);
  return {
    directoryUser: (issuer, id) => readOne(() => findUser(issuer, id)),
    directoryUsers: (issuer, filter, slice) =>
      read(function* () {
        const { page, count } = lists(filter);
        const values = listValues(issuer, filter, slice);
        const total = Number((yield* count.first(values))!.total);
        return { total, users: (yield* page.all(values)).map(directoryUser) };
      }),
    addDirectoryUser: (issuer, fields, limits, act) =>
      write(function* () {
        yield* refuseFull(issuer, limits);
        yield* refuseTaken(issuer, fields);
        const id = randomUUID();
        const user = yield* manage(issuer, fields, act);
        const row = { ...columnsOf(fields), id, user: user.id, issuer, createdAt: act.at, changedAt: act.at };
        yield* change((db) => db.insert(directoryUsers).values(row)).run();
        yield* record('user.add', user, act, { userName: fields.userName });
        yield* setActive(user, fields.isActive, act);
        return (yield* findUser(issuer, id))!;
      }),
    changeDirectoryUser: (issuer, id, decide, act) =>
      write(function* () {
        const current = yield* findUser(issuer, id);
        if (current === undefined) return undefined;
        const fields = decide(current);
        if (isSame(current, fields)) return current;
        if (foldCase(fields.userName) !== foldCase(current.userName)) yield* refuseTaken(issuer, fields);
        const isAnother = subjectOf(fields) !== subjectOf(current);
        if (isAnother) yield* release(current.user, act);
        const user = yield* manage(issuer, fields, act, current.id);
        const row = { ...columnsOf(fields), user: user.id, changedAt: act.at };
        yield* change((db) => db.update(directoryUsers).set(row).where(eq(directoryUsers.id, id))).run();
        if (isAnother) yield* updateDirectoryGroups([id]);
        yield* record('user.change', user, act, { userName: fields.userName });
        yield* setActive(user, fields.isActive, act);
        return (yield* findUser(issuer, id))!;
      }),
    removeDirectoryUser: (issuer, id, act) =>
      write(function* () {
        const current = yield* findUser(issuer, id);
        if (current === undefined) return false;
        yield* remove.run({ id });
        yield* release(current.user, act);
        return true;
      }),
    releaseUser: (id, act) =>
      write(function* () {
        const user = yield* userById.first({ id });
        if (user === undefined || user.directoryGroups === null || user.directorySuspendedAt === null) return;
        const entry = yield* byUser.first({ user: id });
        if (entry !== undefined) yield* remove.run({ id: entry.id });
        yield* release(id, act);
      }),
  };
}

function* findUser(issuer: string, id: string): Work<DirectoryUser | undefined> {
  const filter = { by: 'id', value: id } as const;
  const row = yield* lists(filter).page.first(listValues(issuer, filter));
  return row && directoryUser(row);
}

function directoryUser({ externalId, attributes, isActive, ...rest }: Row): DirectoryUser {
  return {
    ...rest,
    ...defined({ externalId: externalId ?? undefined }),
    isActive: Number(isActive) === 1,
    attributes: JSON.parse(attributes) as DirectoryUser['attributes'],
  };
}

function columnsOf({ userName, externalId, attributes }: DirectoryUserFields) {
  return { userName, userNameKey: foldCase(userName), externalId: externalId ?? null, attributes };
}

function isSame(current: DirectoryUser, fields: DirectoryUserFields): boolean {
  const text = ({ userName, externalId, isActive, attributes }: DirectoryUserFields) =>
    JSON.stringify([userName, externalId, isActive, attributes]);
  return text(current) === text(fields);
}

function* refuseFull(issuer: string, { maxUsers }: DirectoryLimits): Work<void> {
  if (Number((yield* countAll.first({ issuer }))!.total) < maxUsers) return;
  throw new KrmhubError('too-large', `the directory has ${maxUsers} users here, which is the limit`, {
    hint: 'Assign fewer users to the application in the directory.',
  });
}

function* refuseTaken(issuer: string, { userName }: DirectoryUserFields): Work<void> {
  const filter = { by: 'name', value: userName } as const;
  if ((yield* lists(filter).page.first(listValues(issuer, filter))) === undefined) return;
  throw new KrmhubError('conflict', `another user has the userName ${JSON.stringify(userName)}`);
}

/** Adds or updates the user that an entry is about. Rejects with `conflict` if another entry is about that user. */
function* manage(issuer: string, fields: DirectoryUserFields, act: Act, id?: string): Work<UserRow> {
  const subject = subjectOf(fields);
  const known = yield* userByIdentity.first({ issuer, subject });
  const { name, email = null } = shownUser(fields);
  const found = { name, email };
  if (known === undefined) {
    const added = { ...found, id: randomUUID(), issuer, subject, groups: [], directoryGroups: [] };
    const times = { createdAt: act.at, confirmedAt: act.at };
    yield* change((db) => db.insert(users).values({ ...added, ...times })).run();
    return (yield* userById.first({ id: added.id }))!;
  }
  const entry = yield* byUser.first({ user: known.id });
  if (entry !== undefined && entry.id !== id) {
    throw new KrmhubError('conflict', `another user has the subject ${JSON.stringify(subject)}`, {
      hint: 'The subject is the externalId, or else the userName.',
    });
  }
  if (wasRemoved(known)) yield* endCredentials(known.id, act);
  const managed = { ...found, directoryGroups: known.directoryGroups ?? [] };
  yield* change((db) => db.update(users).set(managed).where(eq(users.id, known.id))).run();
  return (yield* userById.first({ id: known.id }))!;
}

/** Suspends a user as the directory says, or ends that. What an administrator suspended stays suspended. */
function* setActive(user: UserRow, isActive: boolean, act: Act): Work<void> {
  if (isActive === (user.directorySuspendedAt === null)) return;
  const directorySuspendedAt = isActive ? null : act.at;
  yield* change((db) => db.update(users).set({ directorySuspendedAt }).where(eq(users.id, user.id))).run();
  if (!isActive) yield* endSessions.run({ id: user.id });
  yield* record(isActive ? 'user.restore' : 'user.suspend', user, act, { directory: act.by });
}

/** Suspends a user for good: it can come back, and nothing that it could sign in with does. */
function* release(id: string, act: Act): Work<void> {
  const user = (yield* userById.first({ id }))!;
  yield* setActive(user, false, act);
  yield* endCredentials(id, act);
  const forgotten = { directoryGroups: null, groups: [] };
  yield* change((db) => db.update(users).set(forgotten).where(eq(users.id, id))).run();
  yield* record('user.remove', user, act);
}

function* record(action: AuditAction, user: UserRow, act: Act, more: AuditDetail = {}): Work<void> {
  const { id, name, issuer, subject } = user;
  const detail = { name, issuer, subject, ...more };
  yield* appendAudit({ ...act, action, object: `user/${id}`, outcome: 'done', detail });
}
