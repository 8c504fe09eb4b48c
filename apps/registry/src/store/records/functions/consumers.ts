import type { ConsumedRelease, ConsumerStore } from '@krmhub/catalog';
import { compareText } from '@krmhub/schema/compare-text';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { consumedReleases, consumers } from '../schema/consumers.js';

const { group, kindFolded, version, release } = consumedReleases;
const releasesOf = query((db) =>
  db
    .select()
    .from(consumedReleases)
    .where(
      and(
        eq(consumedReleases.reporter, sql.placeholder('reporter')),
        eq(consumedReleases.name, sql.placeholder('name')),
      ),
    )
    .orderBy(asc(group), asc(kindFolded), asc(version), asc(release)),
);
const others = text<{ count: number }>(
  'SELECT count(*) AS count FROM consumer WHERE reporter = :reporter AND name <> :name',
);
const removeReleases = text('DELETE FROM consumed_release WHERE reporter = :reporter AND name = :name');
const remove = text('DELETE FROM consumer WHERE reporter = :reporter AND name = :name');
const removeOldReleases = text(
  // Each report runs it, so it must not look at all releases.
  `DELETE FROM consumed_release WHERE (reporter, name) IN
     (SELECT reporter, name FROM consumer WHERE reported_at < :before)`,
);
const removeOld = text('DELETE FROM consumer WHERE reported_at < :before');

const OF_FUNCTION = `FROM consumed_release AS one JOIN consumer AS reported
    ON reported.reporter = one.reporter AND reported.name = one.name
  WHERE group_name = :group AND kind_folded = :kindFolded AND reported_at >= :since`;
const total = text<{ count: number }>(`SELECT count(DISTINCT one.name) AS count ${OF_FUNCTION}`);
const byRelease = text<{ version: string; release: string; count: number }>(
  `SELECT api_version AS version, release, count(DISTINCT one.name) AS count ${OF_FUNCTION}
   GROUP BY api_version, release ORDER BY api_version, release`,
);
const withFields = text<{ version: string; name: string; fields: string }>(
  `SELECT DISTINCT api_version AS version, one.name AS name, fields ${OF_FUNCTION} AND fields IS NOT NULL`,
);
const publicNames = text<{ name: string }>(
  `SELECT DISTINCT one.name AS name ${OF_FUNCTION} AND one.name NOT LIKE 'sha256:%' ORDER BY name LIMIT :limit`,
);

function* deleteOld(before: string): Work<void> {
  yield* removeOldReleases.run({ before });
  yield* removeOld.run({ before });
}

export function consumerRows({ read, write }: Sql): ConsumerStore {
  return {
    putConsumer: ({ reporter, name, reportedAt, releases }, { expired, max }, act) =>
      write(function* () {
        yield* deleteOld(expired);
        const key = { reporter, name };
        if (releases.length > 0 && Number((yield* others.first(key))?.count) >= max) return 'too-many';
        const before = (yield* releasesOf.all(key)).map(record);
        const isChanged = JSON.stringify(before) !== JSON.stringify(sorted(releases));
        const row = { ...key, reportedAt };
        if (releases.length > 0) {
          const target = [consumers.reporter, consumers.name];
          yield* change((db) =>
            db.insert(consumers).values(row).onConflictDoUpdate({ target, set: { reportedAt } }),
          ).run();
        } else yield* remove.run(key);
        if (!isChanged) return 'unchanged';
        yield* removeReleases.run(key);
        const rows = releases.map(({ fields = null, ...one }) => ({
          ...key,
          ...one,
          kindFolded: one.kind.toLowerCase(),
          fields,
        }));
        if (rows.length > 0) yield* change((db) => db.insert(consumedReleases).values(rows)).run();
        const detail = { reporter, releases: releases.length };
        const audited = { ...act, action: 'consumer.report' as const, object: `consumer/${name}` };
        yield* appendAudit({ ...audited, outcome: 'done', detail });
        return 'changed';
      }),

    countConsumers: ({ group, kind }, since, maxNames) =>
      read(function* () {
        const of = { group, kindFolded: kind.toLowerCase(), since };
        const releases = (yield* byRelease.all(of)).map(({ count, ...one }) => ({
          ...one,
          packages: Number(count),
        }));
        const packages = new Map<string, Set<string>>();
        for (const { version, name, fields } of yield* withFields.all(of)) {
          for (const field of JSON.parse(fields) as string[]) {
            const key = `${version} ${field}`;
            packages.set(key, (packages.get(key) ?? new Set()).add(name));
          }
        }
        const fields = [...packages]
          .sort(([a], [b]) => compareText(a, b))
          .map(([key, names]) => {
            const [version = '', field = ''] = key.split(' ');
            return { version, field, packages: names.size };
          });
        const names = (yield* publicNames.all({ ...of, limit: maxNames })).map(({ name }) => name);
        return { packages: Number((yield* total.first(of))?.count), releases, fields, names };
      }),

    deleteConsumers: (before) => write(() => deleteOld(before)),
  };
}

function sorted(releases: readonly ConsumedRelease[]): ConsumedRelease[] {
  const key = (one: ConsumedRelease) =>
    [one.group, one.kind.toLowerCase(), one.version, one.release].join('\0');
  return releases.map(record).sort((a, b) => compareText(key(a), key(b)));
}

function record({ group, kind, version, release, fields }: Nullable<ConsumedRelease>): ConsumedRelease {
  return { group, kind, version, release, ...defined({ fields: fields ?? undefined }) };
}

type Nullable<Record extends { fields?: unknown }> = Omit<Record, 'fields'> & {
  fields?: Record['fields'] | null;
};
