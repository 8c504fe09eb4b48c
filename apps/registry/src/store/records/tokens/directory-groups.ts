import { randomUUID } from 'node:crypto';
import type { Act } from '@krmhub/catalog';
import { type AuditAction, foldCase, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { plural } from '@krmhub/schema/text';
import { eq } from 'drizzle-orm';
import type {
  DirectoryGroup,
  DirectoryGroupFields,
  DirectoryLimits,
  DirectoryMember,
  DirectoryStore,
  DirectoryUserStore,
} from '../../directory-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, inList, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { directoryGroups } from '../schema/directory.js';
import { users } from '../schema/tokens.js';
import { listStatements, listValues } from './directory-filter.js';
import { RecentTokens } from './recent-tokens.js';

const COLUMNS = `id, name, external_id AS "externalId", created_at AS "createdAt", changed_at AS "changedAt",
  (SELECT count(*) FROM scim_member WHERE group_id = scim_group.id) AS size`;
const FROM = 'FROM scim_group WHERE issuer = :issuer';

interface Row extends Omit<DirectoryGroup, 'externalId'> {
  externalId: string | null;
  size: number;
}

const lists = listStatements<Row>(COLUMNS, FROM, { id: 'id', name: 'name_key', externalId: 'external_id' });
const countAll = text<{ total: number }>('SELECT count(*) AS total FROM scim_group WHERE issuer = :issuer');
const remove = text('DELETE FROM scim_group WHERE id = :id');
const members = text<DirectoryMember>(
  inList(
    (groups) => `SELECT group_id AS "group", scim_user.id AS id, user_id AS "user", user_name AS "userName"
       FROM scim_member JOIN scim_user ON scim_user.id = member_id WHERE group_id IN ${groups}
       ORDER BY group_id, member_id`,
    ':groups',
  ),
);
const knownMembers = text<{ id: string; user: string }>(
  inList(
    (ids) => `SELECT id, user_id AS "user" FROM scim_user WHERE issuer = :issuer AND id IN ${ids}`,
    ':ids',
  ),
);
const addMembers = text(
  inList(
    (ids) =>
      `INSERT INTO scim_member (group_id, member_id) SELECT :group, id FROM scim_user WHERE id IN ${ids}`,
    ':ids',
  ),
);
const removeMembers = text(
  inList((ids) => `DELETE FROM scim_member WHERE group_id = :group AND member_id IN ${ids}`, ':ids'),
);
const crowded = text<{ member: string }>(
  inList(
    (ids) => `SELECT member_id AS member FROM scim_member WHERE member_id IN ${ids}
       GROUP BY member_id HAVING count(*) > :max LIMIT 1`,
    ':ids',
  ),
);
const claimed = text<{ id: string; groups: string }>(
  inList((ids) => `SELECT id, groups FROM registry_user WHERE id IN ${ids} AND groups <> '[]'`, ':ids'),
);
const FROM_MEMBERS = `FROM scim_user JOIN scim_member ON member_id = scim_user.id JOIN scim_group ON scim_group.id = group_id
  WHERE scim_user.user_id = registry_user.id`;
const ofMembers = (ids: string) => `WHERE id IN (SELECT user_id FROM scim_user WHERE id IN ${ids})`;
const update = {
  sqlite: inList(
    (ids) =>
      `UPDATE registry_user SET directory_groups = (SELECT json_group_array(name) ${FROM_MEMBERS}) ${ofMembers(ids)}`,
    ':ids',
  ).sqlite,
  postgres: inList(
    (ids) =>
      `UPDATE registry_user SET directory_groups = (SELECT coalesce(json_agg(name), '[]')::text ${FROM_MEMBERS}) ${ofMembers(ids)}`,
    ':ids',
  ).postgres,
};
const updateGroups = text(update);

/** Writes the groups of members of the directory to their users, where each request reads them. */
export function* updateDirectoryGroups(ids: readonly string[]): Work<void> {
  if (ids.length > 0) yield* updateGroups.run({ ids: JSON.stringify(ids) });
}

type Next = DirectoryGroupFields & { members: ReadonlySet<string> };

export function directoryGroupRows(database: Sql): Omit<DirectoryStore, keyof DirectoryUserStore> {
  const { read, readOne } = database;
  const { write } = RecentTokens.of(database);
  return {
    directoryGroup: (issuer, id) => readOne(() => findGroup(issuer, id)),
    directoryGroups: (issuer, filter, slice) =>
      read(function* () {
        const { page, count } = lists(filter);
        const values = listValues(issuer, filter, slice);
        const total = Number((yield* count.first(values))!.total);
        const rows = yield* page.all(values);
        return { total, groups: rows.map((row) => ({ ...directoryGroup(row), size: Number(row.size) })) };
      }),
    directoryMembers: (groups) => readOne(() => members.all({ groups: JSON.stringify(groups) })),
    addDirectoryGroup: (issuer, group, limits, act) =>
      write(function* () {
        yield* refuseFull(issuer, limits);
        yield* refuseTaken(issuer, group);
        const id = randomUUID();
        const row = { ...columnsOf(group), id, issuer, createdAt: act.at, changedAt: act.at };
        yield* change((db) => db.insert(directoryGroups).values(row)).run();
        yield* record('directory-group.add', id, act, [group.name]);
        yield* replaceMembers(issuer, { id, ...group }, new Set(), limits, act);
        return (yield* findGroup(issuer, id))!;
      }),
    changeDirectoryGroup: (issuer, id, decide, limits, act) =>
      write(function* () {
        const current = yield* findGroup(issuer, id);
        if (current === undefined) return undefined;
        const before = new Set((yield* members.all({ groups: JSON.stringify([id]) })).map((one) => one.id));
        const next = decide({ ...current, members: before });
        const isRenamed = next.name !== current.name;
        if (foldCase(next.name) !== foldCase(current.name)) yield* refuseTaken(issuer, next);
        if (isRenamed || next.externalId !== current.externalId) {
          const row = { ...columnsOf(next), changedAt: act.at };
          yield* change((db) => db.update(directoryGroups).set(row).where(eq(directoryGroups.id, id))).run();
          yield* record('directory-group.change', id, act, [current.name, next.name]);
        }
        yield* replaceMembers(issuer, { id, ...next }, before, limits, act);
        if (isRenamed) {
          const stay = [...before].filter((member) => next.members.has(member));
          yield* updateDirectoryGroups(stay);
          yield* forgetClaims(issuer, stay, current);
        }
        return (yield* findGroup(issuer, id))!;
      }),
    removeDirectoryGroup: (issuer, id, act) =>
      write(function* () {
        const current = yield* findGroup(issuer, id);
        if (current === undefined) return false;
        const former = (yield* members.all({ groups: JSON.stringify([id]) })).map((one) => one.id);
        yield* remove.run({ id });
        yield* updateDirectoryGroups(former);
        yield* forgetClaims(issuer, former, current);
        yield* record('directory-group.remove', id, act, [current.name]);
        return true;
      }),
  };
}

function* findGroup(issuer: string, id: string): Work<DirectoryGroup | undefined> {
  const filter = { by: 'id', value: id } as const;
  const row = yield* lists(filter).page.first(listValues(issuer, filter));
  return row && directoryGroup(row);
}

function directoryGroup({ id, name, externalId, createdAt, changedAt }: Row): DirectoryGroup {
  return { id, name, createdAt, changedAt, ...defined({ externalId: externalId ?? undefined }) };
}

function columnsOf({ name, externalId }: DirectoryGroupFields) {
  return { name, nameKey: foldCase(name), externalId: externalId ?? null };
}

function* refuseFull(issuer: string, { maxGroups }: DirectoryLimits): Work<void> {
  if (Number((yield* countAll.first({ issuer }))!.total) < maxGroups) return;
  throw new KrmhubError('too-large', `the directory has ${maxGroups} groups here, which is the limit`, {
    hint: 'Assign fewer groups to the application in the directory.',
  });
}

function* refuseTaken(issuer: string, { name }: DirectoryGroupFields): Work<void> {
  const filter = { by: 'name', value: name } as const;
  if ((yield* lists(filter).page.first(listValues(issuer, filter))) === undefined) return;
  throw new KrmhubError('conflict', `another group has the displayName ${JSON.stringify(name)}`);
}

/** Makes the members of a group those that it shall have. */
function* replaceMembers(
  issuer: string,
  group: Next & { id: string },
  before: ReadonlySet<string>,
  limits: DirectoryLimits,
  act: Act,
): Work<void> {
  const added = [...group.members].filter((id) => !before.has(id));
  const removed = [...before].filter((id) => !group.members.has(id));
  if (added.length + removed.length === 0) return;
  if (group.members.size > limits.maxMembers) {
    throw new KrmhubError('too-large', `a group has at most ${plural(limits.maxMembers, 'member')}`);
  }
  const list = { added: JSON.stringify(added), removed: JSON.stringify(removed) };
  const known = yield* knownMembers.all({ issuer, ids: list.added });
  const userOf = new Map(known.map(({ id, user }) => [id, user]));
  const unknown = added.find((id) => !userOf.has(id));
  if (unknown !== undefined) {
    throw new KrmhubError('invalid-request', `member ${unknown} is not a user of this directory`);
  }
  yield* addMembers.run({ group: group.id, ids: list.added });
  yield* removeMembers.run({ group: group.id, ids: list.removed });
  const tooMany = yield* crowded.first({ ids: list.added, max: limits.maxGroupsOfUser });
  if (tooMany !== undefined) {
    const limit = plural(limits.maxGroupsOfUser, 'group');
    throw new KrmhubError('too-large', `user ${tooMany.member} would be in more than ${limit}`);
  }
  yield* updateDirectoryGroups([...added, ...removed]);
  yield* forgetClaims(issuer, removed, group);
  const changedAt = act.at;
  yield* change((db) =>
    db.update(directoryGroups).set({ changedAt }).where(eq(directoryGroups.id, group.id)),
  ).run();
  for (const { id, user } of yield* knownMembers.all({ issuer, ids: list.removed })) userOf.set(id, user);
  for (const [verb, ids] of [
    ['added', added],
    ['removed', removed],
  ] as const) {
    for (let from = 0; from < ids.length; from += USERS_OF_ROW) {
      const named = ids.slice(from, from + USERS_OF_ROW).map((id) => userOf.get(id)!);
      yield* record('directory-group.change', group.id, act, [group.name], { [verb]: named.join(' ') });
    }
  }
}

/** Users that one row of the audit log names: it shortens longer texts. */
const USERS_OF_ROW = 13;

/**
 * Removes a group from what the last sign-in of former members said, by its name or its ID: rights end at once, and not
 * only when they sign in again.
 */
function* forgetClaims(
  issuer: string,
  former: readonly string[],
  { name, externalId }: DirectoryGroupFields,
): Work<void> {
  if (former.length === 0) return;
  const known = yield* knownMembers.all({ issuer, ids: JSON.stringify(former) });
  for (const row of yield* claimed.all({ ids: JSON.stringify(known.map(({ user }) => user)) })) {
    const groups = JSON.parse(row.groups) as string[];
    const left = groups.filter((group) => ![name, externalId, `${issuer} ${name}`].includes(group));
    if (left.length === groups.length) continue;
    yield* change((db) => db.update(users).set({ groups: left }).where(eq(users.id, row.id))).run();
  }
}

function* record(
  action: AuditAction,
  id: string,
  act: Act,
  [name, newName]: readonly string[],
  more: Record<string, string> = {},
): Work<void> {
  const detail = { ...defined({ name, newName: newName === name ? undefined : newName }), ...more };
  yield* appendAudit({ ...act, action, object: `directory-group/${id}`, outcome: 'done', detail });
}
