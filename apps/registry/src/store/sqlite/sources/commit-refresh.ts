import { RevisionConflict, type SourceRecord, type SourceRefresh, type SourceStore } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, eq } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { eventAppender } from '../events/events.js';
import { prepared } from '../prepared.js';
import { catalogSources, type EntryFacts } from '../schema/sources.js';
import { entryRemover, sourceRecord } from './source-rows.js';

export function commitRefresh(connection: Connection): SourceStore['commitRefresh'] {
  const { client, db, write } = connection;
  const appendEvent = eventAppender(connection);
  const forget = entryRemover(connection);
  const putEntry = entryWriter(connection);
  const removeEntry = prepared(() =>
    client.prepare<Record<string, string | number>>(
      `UPDATE upstream_entry SET gone_at = :at, changed_event = :event
     WHERE catalog = :catalog AND source = :source AND group_name = :group AND kind_folded = :kindFolded
       AND definition = :definition AND gone_at IS NULL`,
    ),
  );
  const reevaluate = prepared(() =>
    client.prepare<[number, string, string]>(
      `UPDATE upstream_entry SET changed_event = ? WHERE catalog = ? AND source = ? AND gone_at IS NULL`,
    ),
  );

  const commit = (refresh: SourceRefresh) =>
    write(() => {
      const { record, put, removed, event } = refresh;
      const { catalog, source } = record;
      const at = record.checkedAt!;
      expectUnchanged(connection, refresh);
      const { nextAt, checkedAt, failure = null, copy = null, highest = null } = record;
      db.update(catalogSources)
        .set({ nextAt, checkedAt: checkedAt!, failure, copy, highest })
        .where(and(eq(catalogSources.catalog, catalog), eq(catalogSources.source, source)))
        .run();
      const appended = event && appendEvent(event);
      const changes = put.length + removed.length > 0 || refresh.reevaluate;
      if (changes && appended === undefined) throw new TypeError('entries change only with an event');
      if (changes) {
        const { sequence } = appended!;
        for (const { group, kind, definition } of removed) {
          const kindFolded = kind.toLowerCase();
          removeEntry.run({ at, event: sequence, catalog, source, group, kindFolded, definition });
        }
        for (const entry of put) putEntry(record, entry, sequence);
        if (refresh.reevaluate) reevaluate.run(sequence, catalog, source);
      }
      forget.goneBefore(record, refresh.purgeGoneBefore, at);
      return appended;
    });

  return async (refresh) => {
    const appended = await commit(refresh);
    await collectEntries(connection, forget, refresh.record.checkedAt!);
    return appended;
  };
}

/** Batches of unused entries that follow one sync: more than one sync can add. */
const COLLECTED_BATCHES = 50;

/** Deletes unused entries in batches, so that others can write. The next sync continues. */
async function collectEntries(
  { write }: Connection,
  forget: ReturnType<typeof entryRemover>,
  at: string,
): Promise<void> {
  for (let batch = 0; batch < COLLECTED_BATCHES && forget.canCollect(at); batch++) {
    try {
      await write(() => forget.collect(at));
    } catch (error) {
      // The sync itself is committed.
      if (error instanceof KrmhubError) return;
      throw error;
    }
  }
}

function expectUnchanged({ db }: Connection, { expected, record }: SourceRefresh): void {
  const { catalog, source } = record;
  const row = db
    .select()
    .from(catalogSources)
    .where(and(eq(catalogSources.catalog, catalog), eq(catalogSources.source, source)))
    .get();
  const current = row && sourceRecord(row);
  // Applying a recipe sets `nextAt` and clears `checkedAt`.
  const same = (field: 'url' | 'nextAt' | 'checkedAt') => current?.[field] === expected[field];
  if (current !== undefined && same('url') && same('nextAt') && same('checkedAt')) return;
  throw new RevisionConflict(`source ${source} of catalog ${catalog} has changed`);
}

function entryWriter({ client }: Connection) {
  const previousEntry = prepared(() =>
    client.prepare<Record<string, string>, { firstSeen: string; goneAt: string | null }>(
      `SELECT first_seen AS firstSeen, gone_at AS goneAt FROM upstream_entry
     WHERE catalog = :catalog AND source = :source AND group_name = :group AND kind_folded = :kindFolded
       AND definition = :definition`,
    ),
  );
  const isStored = prepared(() => client.prepare<[string]>('SELECT 1 FROM entry WHERE digest = ?'));
  // Prepared once: there are thousands of entries, and other writes wait.
  const put = prepared(() =>
    client.prepare<Record<string, string | number>>(
      `INSERT INTO upstream_entry (catalog, source, group_name, kind_folded, definition, kind, facts, first_seen, gone_at,
       changed_event)
     VALUES (:catalog, :source, :group, :kindFolded, :definition, :kind, :facts, :firstSeen, NULL, :event)
     ON CONFLICT (catalog, source, group_name, kind_folded, definition) DO UPDATE SET
       kind = excluded.kind, facts = excluded.facts, first_seen = excluded.first_seen, gone_at = NULL,
       changed_event = excluded.changed_event`,
    ),
  );
  return (
    { catalog, source }: SourceRecord,
    entry: SourceRefresh['put'][number],
    changedEvent: number,
  ): void => {
    const { group, kind, definition, firstSeen, goneAt: _, ...facts } = entry;
    // Another source may have deleted it as unused since it was stored.
    if (isStored.get(definition) === undefined) {
      throw new RevisionConflict(`rendered entry ${definition} is not stored`);
    }
    const key = { catalog, source, group, kindFolded: kind.toLowerCase(), definition };
    const before = previousEntry.get(key);
    put.run({
      ...key,
      kind,
      facts: JSON.stringify(facts satisfies EntryFacts),
      firstSeen: before === undefined ? firstSeen : addEarlierTime(firstSeen, before),
      event: changedEvent,
    });
  };
}

/**
 * Returns the first-seen time of an entry that returned, reduced by its earlier time in the source. The absence does
 * not count, so that a bad entry which was fixed within an hour does not reach the minimum age unseen.
 */
function addEarlierTime(
  back: string,
  { firstSeen, goneAt }: { firstSeen: string; goneAt: string | null },
): string {
  if (goneAt === null) return firstSeen;
  const earlier = Math.max(Date.parse(goneAt) - Date.parse(firstSeen), 0);
  return new Date(Date.parse(back) - earlier).toISOString();
}
