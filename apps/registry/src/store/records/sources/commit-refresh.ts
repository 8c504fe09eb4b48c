import { type Event, RevisionConflict, type SourceRefresh, type SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, eq, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { LARGE_WRITE } from '../../sql/write-queue.js';
import { appendEvent } from '../events/append-event.js';
import { catalogSources, type EntryFacts } from '../schema/sources.js';
import { canCollect, collectEntries, removeFormerEntries, sourceRecord } from './source-rows.js';

const ofSource = and(
  eq(catalogSources.catalog, sql.placeholder('catalog')),
  eq(catalogSources.source, sql.placeholder('source')),
);
const stored = query((db) => db.select().from(catalogSources).where(ofSource));
const removeEntry = text(
  `UPDATE upstream_entry SET gone_at = :at, changed_event = :event
   WHERE catalog = :catalog AND source = :source AND group_name = :group AND kind_folded = :kindFolded
     AND definition = :definition AND gone_at IS NULL`,
);
const reevaluate = text(
  `UPDATE upstream_entry SET changed_event = :event WHERE catalog = :catalog AND source = :source AND gone_at IS NULL`,
);
interface FormerEntry {
  definition: string;
  firstSeen: string;
  goneAt: string | null;
}

const formerEntries = text<FormerEntry>(
  `SELECT definition, first_seen AS "firstSeen", gone_at AS "goneAt" FROM upstream_entry
   WHERE catalog = :catalog AND source = :source AND group_name = :group AND kind_folded = :kindFolded`,
);
const storedEntry = text<{ digest: string }>('SELECT digest FROM entry WHERE digest = :definition');
const put = text(
  `INSERT INTO upstream_entry (catalog, source, group_name, kind_folded, definition, kind, facts, first_seen, gone_at,
     changed_event)
   VALUES (:catalog, :source, :group, :kindFolded, :definition, :kind, :facts, :firstSeen, NULL, :event)
   ON CONFLICT (catalog, source, group_name, kind_folded, definition) DO UPDATE SET
     kind = excluded.kind, facts = excluded.facts, first_seen = excluded.first_seen, gone_at = NULL,
     changed_event = excluded.changed_event`,
);

export function commitRefresh(database: Sql): SourceStore['commitRefresh'] {
  return async (refresh) => {
    const { put, removed } = refresh;
    const isLarge = put.length + removed.length >= LARGE_WRITE;
    const appended = await database.write(() => storeRefresh(refresh), { isLarge });
    await collect(database, refresh.record.checkedAt!);
    return appended;
  };
}

function* storeRefresh(refresh: SourceRefresh): Work<Event | undefined> {
  const { record, put, removed, event } = refresh;
  const { catalog, source } = record;
  const at = record.checkedAt!;
  yield* expectUnchanged(refresh);
  const { nextAt, checkedAt, failure = null, copy = null, highest = null } = record;
  yield* change((db) =>
    db.update(catalogSources).set({ nextAt, checkedAt: checkedAt!, failure, copy, highest }).where(ofSource),
  ).run({ catalog, source });
  const appended = event && (yield* appendEvent(event));
  const changes = put.length + removed.length > 0 || refresh.reevaluate;
  if (changes && appended === undefined) throw new TypeError('entries change only with an event');
  if (changes) {
    const { sequence } = appended!;
    for (const { group, kind, definition } of removed) {
      const kindFolded = kind.toLowerCase();
      yield* removeEntry.run({ at, event: sequence, catalog, source, group, kindFolded, definition });
    }
    for (const entry of put) yield* putEntry(refresh, entry, sequence);
    if (refresh.reevaluate) yield* reevaluate.run({ event: sequence, catalog, source });
  }
  yield* removeFormerEntries(record, refresh.purgeGoneBefore, at);
  return appended;
}

/** Batches of unused entries that follow one sync: more than one sync can add. */
const COLLECTED_BATCHES = 50;

/** Deletes unused entries in batches, so that others can write. The next sync continues. */
async function collect({ read, write }: Sql, at: string): Promise<void> {
  for (let batch = 0; batch < COLLECTED_BATCHES && (await read(() => canCollect(at))); batch++) {
    try {
      await write(() => collectEntries(at));
    } catch (error) {
      // The sync itself is committed.
      if (error instanceof KrmhubError) return;
      throw error;
    }
  }
}

function* expectUnchanged({ expected, record }: SourceRefresh): Work<void> {
  const { catalog, source } = record;
  const row = yield* stored.first({ catalog, source });
  const current = row && sourceRecord(row);
  // Applying a recipe sets `nextAt` and clears `checkedAt`.
  const same = (field: 'url' | 'nextAt' | 'checkedAt') => current?.[field] === expected[field];
  if (current !== undefined && same('url') && same('nextAt') && same('checkedAt')) return;
  throw new RevisionConflict(`source ${source} of catalog ${catalog} has changed`);
}

function* putEntry(
  { record: { catalog, source }, minimumAgeSeconds = 0 }: SourceRefresh,
  entry: SourceRefresh['put'][number],
  changedEvent: number,
): Work<void> {
  const { group, kind, definition, firstSeen, goneAt: _, ...facts } = entry;
  // Another source may have deleted it as unused since it was stored.
  if ((yield* storedEntry.first({ definition })) === undefined) {
    throw new RevisionConflict(`rendered entry ${definition} is not stored`);
  }
  const key = { catalog, source, group, kindFolded: kind.toLowerCase(), definition };
  const others = yield* formerEntries.all({ ...key });
  const before = others.find((one) => one.definition === definition);
  const isCredited =
    before?.goneAt != null && !others.some((one) => wasServedAfter(one, before.goneAt!, minimumAgeSeconds));
  yield* put.run({
    ...key,
    kind,
    facts: JSON.stringify(facts satisfies EntryFacts),
    firstSeen: isCredited ? addEarlierTime(firstSeen, before) : firstSeen,
    event: changedEvent,
  });
}

/**
 * Reports whether an entry reached the minimum age after another one was gone. Then a catalog has replaced that one, and
 * a source that returns to it goes back to an older content: a new change, which must reach the minimum age again.
 */
function wasServedAfter(
  { firstSeen, goneAt }: FormerEntry,
  since: string,
  minimumAgeSeconds: number,
): boolean {
  return (
    goneAt !== null &&
    goneAt > since &&
    Date.parse(goneAt) - Date.parse(firstSeen) >= minimumAgeSeconds * 1_000
  );
}

/**
 * Returns the first-seen time of an entry that returned, reduced by its earlier time in the source. The absence does
 * not count, so that a bad entry which was fixed within an hour does not reach the minimum age unseen.
 */
function addEarlierTime(back: string, { firstSeen, goneAt }: FormerEntry): string {
  if (goneAt === null) return firstSeen;
  const earlier = Math.max(Date.parse(goneAt) - Date.parse(firstSeen), 0);
  return new Date(Date.parse(back) - earlier).toISOString();
}
