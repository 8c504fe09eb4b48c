import {
  type Act,
  type AuditDetail,
  publisherTarget,
  type TrustedPublisher,
  type TrustedPublisherStore,
} from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { asc, eq, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, inList, query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { refuseOutdated } from '../events/decided-through.js';
import { trustedPublishers, usedIdentityTokens } from '../schema/trusted-publishers.js';
import { RecentTokens } from './recent-tokens.js';
import { insertToken, revokeRuns } from './tokens.js';

/** Milliseconds after which the token of a workflow that expired is deleted. The audit log keeps what it did. */
const KEPT_MILLISECONDS = 86_400_000;

const { group, createdAt, id } = trustedPublishers;
const all = query((db) => db.select().from(trustedPublishers).orderBy(asc(group), asc(createdAt), asc(id)));
const having = (column: 'group' | 'id') =>
  query((db) =>
    db
      .select()
      .from(trustedPublishers)
      .where(eq(trustedPublishers[column], sql.placeholder(column)))
      .orderBy(asc(group), asc(createdAt), asc(id)),
  );
const byId = having('id');
const LISTS = { group: having('group'), id: byId };
const COLUMNS = `id, group_name AS "group", kind, provider, issuer, settings, pins, keys, team,
  created_at AS "createdAt", created_by AS "createdBy", expires_at AS "pendingUntil", last_used_at AS "lastUsedAt"`;
type Row = typeof trustedPublishers.$inferSelect;
type TextRow = Omit<Row, 'settings' | 'pins'> & { settings: string; pins: string };
const endsAfter = (time: ':at' | ':since') => `(expires_at IS NULL OR expires_at > ${time})`;
const STANDING = endsAfter(':at');
const tokenRows = (where: string) =>
  `SELECT ${COLUMNS} FROM trusted_publisher WHERE issuer = :issuer AND ${STANDING} AND (${where})
   ORDER BY group_name, created_at DESC, id`;
const named = inList((groups) => groups, ':named');
const keyed = inList((groups) => groups, ':keyed');
/** True also for sets that have the ID in another field. */
const HAS_KEY = { sqlite: 'instr(keys, :keyId) > 0', postgres: 'strpos(keys, :keyId) > 0' };
const bothEngines = (source: (dialect: 'sqlite' | 'postgres') => string) =>
  text<TextRow>({ sqlite: tokenRows(source('sqlite')), postgres: tokenRows(source('postgres')) });
const ofGroups = bothEngines(
  (dialect) =>
    `(keys IS NULL AND group_name IN ${named[dialect]}) OR (group_name IN ${keyed[dialect]} AND ${HAS_KEY[dialect]})`,
);
const ofAnyGroup = bothEngines(
  (dialect) =>
    `keys IS NULL OR id IN
      (SELECT id FROM trusted_publisher WHERE issuer = :issuer AND ${STANDING} AND ${HAS_KEY[dialect]} LIMIT :limit)`,
);
/** Those that ended of one issuer that are read at once: they stay until another one is added to their group. */
const MAX_ENDED = 1_000;
const ended = (where: string) =>
  `SELECT ${COLUMNS} FROM trusted_publisher
   WHERE issuer = :issuer AND keys IS NULL AND expires_at <= :at AND expires_at > :since ${where}
   ORDER BY created_at DESC, id LIMIT ${MAX_ENDED}`;
const allEnded = text<TextRow>(ended(''));
const endedOfGroups = text<TextRow>(inList((groups) => ended(`AND group_name IN ${groups}`), ':named'));
const teams = text<{ team: string | null; served: number }>(
  `SELECT DISTINCT team, CASE WHEN keys IS NULL THEN 1 ELSE 0 END AS served FROM trusted_publisher
   WHERE issuer = :issuer AND ${endsAfter(':since')}`,
);
const countOfTeam = text<{ count: number }>(
  'SELECT count(*) AS count FROM trusted_publisher WHERE team = :team',
);
const remove = text('DELETE FROM trusted_publisher WHERE id = :id');
const forget = text('DELETE FROM used_identity_token WHERE expires_at < :at');
const forgetTokens = text('DELETE FROM token WHERE run IS NOT NULL AND expires_at < :before');
const use = change((db) =>
  db
    .insert(usedIdentityTokens)
    .values({
      issuer: sql.placeholder('issuer'),
      key: sql.placeholder('key'),
      until: sql.placeholder('until'),
    })
    .onConflictDoNothing(),
);

/** No provider has this issuer. Its key is a time, and tokens that were issued until then may have been used. */
const RESTORED = '';
/** Clocks of providers can be ahead. */
const AHEAD_MILLISECONDS = 60_000;
/** No token is accepted that expires later. */
const LONGEST_MILLISECONDS = 86_400_000;
const restoredAfter = text<{ found: number }>(
  `SELECT 1 AS found FROM used_identity_token WHERE issuer = '${RESTORED}' AND token_key >= :issuedAt LIMIT 1`,
);

/** A restored backup does not know which tokens were exchanged after it: those that exist now count as used. */
export function* recordForgottenExchanges(now: Date): Work<void> {
  const after = (milliseconds: number) => new Date(now.getTime() + milliseconds).toISOString();
  const until = after(AHEAD_MILLISECONDS + LONGEST_MILLISECONDS);
  yield* use.run({ issuer: RESTORED, key: after(AHEAD_MILLISECONDS), until });
}

const objectOf = ({ group, kind }: TrustedPublisher) =>
  kind === undefined ? `group/${group}` : `function/${group}/${kind}`;

const described = ({ id, provider, issuer, settings }: TrustedPublisher) => ({
  id,
  provider,
  issuer,
  ...settings,
});

/** Removes a publisher with the tokens of its workflow. Returns false if there is none with this ID. */
export function* removePublisherRow(id: string, act: Act): Work<boolean> {
  const row = yield* byId.first({ id });
  if (row === undefined) return false;
  const publisher = record(row);
  const reason = `the trusted publisher ${id} was removed`;
  yield* revokeRuns(publisherTarget(publisher), { ...act, reason });
  yield* removeOne(publisher, act);
  return true;
}

function* removeOne(publisher: TrustedPublisher, act: Act, more: AuditDetail = {}): Work<void> {
  yield* remove.run({ id: publisher.id });
  const about = {
    action: 'publisher.remove' as const,
    object: objectOf(publisher),
    outcome: 'done' as const,
  };
  yield* appendAudit({ ...act, ...about, detail: { ...described(publisher), ...more } });
}

/** Removes the publishers of a group that were not used in time, so that they can be added again. */
function* removeUnused(group: string, act: Act): Work<void> {
  for (const row of yield* LISTS.group.all({ group })) {
    if (row.pendingUntil === null || row.pendingUntil > act.at) continue;
    yield* removeOne(record(row), act, { reason: 'it was not used in time' });
  }
}

export function trustedPublisherRows(database: Sql): TrustedPublisherStore {
  const { readOne } = database;
  const { write } = RecentTokens.of(database);
  return {
    trustedPublishers: (of) =>
      readOne(function* () {
        const [column] = Object.keys(of ?? {}) as (keyof typeof LISTS)[];
        const list = column === undefined ? all : LISTS[column];
        return (yield* list.all({ ...of })).map(record);
      }),
    publishersOfToken: ({ issuer, keyId, at }, groups) =>
      readOne(function* () {
        const values = { issuer, at, keyId: JSON.stringify(keyId) };
        const rows =
          'limit' in groups
            ? yield* ofAnyGroup.all({ ...values, limit: groups.limit })
            : yield* ofGroups.all({
                ...values,
                named: JSON.stringify(groups.named),
                keyed: JSON.stringify(groups.keyed),
              });
        return rows.map(textRecord);
      }),
    endedPublishers: (of, groups) =>
      readOne(function* () {
        const rows =
          groups === undefined
            ? yield* allEnded.all({ ...of })
            : yield* endedOfGroups.all({ ...of, named: JSON.stringify(groups) });
        return rows.map(textRecord);
      }),
    issuerTeams: (of) =>
      readOne(function* () {
        const rows = yield* teams.all({ ...of });
        return rows.map(({ team, served }) => ({
          ...defined({ team: team ?? undefined }),
          isServed: served === 1,
        }));
      }),
    addTrustedPublisher: (publisher, origin, review, decided) =>
      write(function* () {
        yield* refuseOutdated(decided);
        const { createdAt: at, createdBy: by } = publisher;
        yield* removeUnused(publisher.group, { at, by, origin });
        const others = (yield* LISTS.group.all({ group: publisher.group })).map(record);
        const { team } = publisher;
        const ofTeam = team === undefined ? 0 : (yield* countOfTeam.first({ team }))!.count;
        review?.(others, ofTeam);
        yield* change((db) => db.insert(trustedPublishers).values(publisher)).run();
        const act = { at, by, origin, action: 'publisher.add' as const, object: objectOf(publisher) };
        yield* appendAudit({ ...act, outcome: 'done', detail: described(publisher) });
      }),
    removeTrustedPublisher: (id, act) => write(() => removePublisherRow(id, act)),
    exchangeToken: ({ used: { issuedAt, ...used }, publishers, token, hash, origin }) =>
      write(function* () {
        const at = token.createdAt;
        if ((yield* restoredAfter.first({ issuedAt })) !== undefined) return 'forgotten';
        for (const { id, pins } of publishers) {
          const row = yield* byId.first({ id });
          const isPinned = Object.entries(row?.pins ?? {}).every(([name, value]) => pins[name] === value);
          if (row === undefined || !isPinned) return 'changed';
        }
        yield* forget.run({ at });
        yield* forgetTokens.run({ before: new Date(Date.parse(at) - KEPT_MILLISECONDS).toISOString() });
        if ((yield* use.run({ ...used })) === 0) return 'used';
        for (const { id, pins } of publishers) {
          const row = { pins, pendingUntil: null, lastUsedAt: at };
          yield* change((db) =>
            db.update(trustedPublishers).set(row).where(eq(trustedPublishers.id, id)),
          ).run();
        }
        yield* insertToken(token, hash, origin);
        return 'done';
      }),
  };
}

function textRecord({ settings, pins, ...row }: TextRow): TrustedPublisher {
  return record({ ...row, settings: JSON.parse(settings), pins: JSON.parse(pins) });
}

function record(row: Row): TrustedPublisher {
  const { kind, keys, team, pendingUntil, lastUsedAt, ...rest } = row;
  return {
    ...rest,
    ...defined({
      kind: kind ?? undefined,
      keys: keys ?? undefined,
      team: team ?? undefined,
      pendingUntil: pendingUntil ?? undefined,
      lastUsedAt: lastUsedAt ?? undefined,
    }),
  };
}
