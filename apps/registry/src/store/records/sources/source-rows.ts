import type { SourceRecord, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { text, type Work } from '../../sql/statement.js';
import type { catalogSources, EntryFacts } from '../schema/sources.js';

/** Returns the row without its empty columns. */
export function sourceRecord(row: typeof catalogSources.$inferSelect): SourceRecord {
  const { checkedAt, failure, copy, highest, ...rest } = row;
  return {
    ...rest,
    ...defined({
      checkedAt: checkedAt ?? undefined,
      failure: failure ?? undefined,
      copy: copy ?? undefined,
      highest: highest ?? undefined,
    }),
  };
}

/** Columns of an upstream entry as SQL returns them. */
export interface EntryRow {
  source: string;
  group: string;
  kind: string;
  definition: Digest;
  /** JSON. */
  facts: string;
  firstSeen: string;
  goneAt: string | null;
}

export const ENTRY_COLUMNS = `one.source, one.group_name AS "group", one.kind, one.definition, one.facts,
  one.first_seen AS "firstSeen", one.gone_at AS "goneAt"`;

export function upstreamEntry({ source: _, facts, goneAt, ...row }: EntryRow): UpstreamEntry {
  return { ...row, ...(JSON.parse(facts) as EntryFacts), ...defined({ goneAt: goneAt ?? undefined }) };
}

/** Stored former entries of one function in one source: a source may change all the time. */
export const MAX_FORMER_ENTRIES = 20;
/** Stored former entries of one source. */
const MAX_REMOVED_ENTRIES = 50_000;

/** SQL of the digests of the copies that any source uses. */
export const COPIES = `SELECT DISTINCT copy ->> 'digest' AS digest FROM catalog_source WHERE copy IS NOT NULL`;

/** Milliseconds for which unused entries are stored: a build may be reading them. */
const UNUSED_MILLISECONDS = 3_600_000;
/** Entries deleted in one transaction. */
const COLLECTED = 500;

interface Source {
  catalog: string;
  source: string;
}

const addUnused = (condition: string) =>
  `INSERT INTO unused_entry (digest, since)
   SELECT definition, :at FROM (
     SELECT DISTINCT definition FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}) AS deleted
   WHERE true ON CONFLICT (digest) DO NOTHING`;
const forget = (condition: string) =>
  `DELETE FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}`;
// A former entry may still be in the catalog while its successor is too young.
const GONE = `AND (group_name, kind_folded, definition) IN (
  SELECT group_name, kind_folded, definition FROM (
    SELECT one.group_name, one.kind_folded, one.definition, one.gone_at < :before AND NOT EXISTS (
        SELECT 1 FROM upstream_entry AS present
        WHERE present.catalog = one.catalog AND present.source = one.source
          AND present.group_name = one.group_name AND present.kind_folded = one.kind_folded
          AND present.gone_at IS NULL AND present.first_seen >= :before) AS old,
      row_number() OVER (PARTITION BY one.group_name, one.kind_folded ORDER BY one.gone_at DESC) AS nth,
      row_number() OVER (ORDER BY one.gone_at DESC) AS place
    FROM upstream_entry AS one
    WHERE one.catalog = :catalog AND one.source = :source AND one.gone_at IS NOT NULL) AS former
  WHERE old OR nth > ${MAX_FORMER_ENTRIES} OR place > ${MAX_REMOVED_ENTRIES}) AND gone_at IS NOT NULL`;
const addAllUnused = text(addUnused(''));
const forgetAll = text(forget(''));
const gone = text<{ source: string }>(
  `SELECT source FROM upstream_entry WHERE catalog = :catalog AND source = :source AND gone_at IS NOT NULL LIMIT 1`,
);
const addUnusedGone = text(addUnused(GONE));
const forgetGone = text(forget(GONE));
const unusedSince = text<{ digest: Digest }>(
  'SELECT digest FROM unused_entry WHERE since < :before LIMIT :limit',
);
const forgetUnused = text('DELETE FROM unused_entry WHERE digest = :digest');
const collect = text(
  `DELETE FROM entry WHERE digest = :digest
     AND NOT EXISTS (SELECT 1 FROM catalog_function WHERE entry = :digest)
     AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE definition = :digest)`,
);

/** Deletes all entries of a source, and later their rendered entries if unused. */
export function* removeEntries({ catalog, source }: Source, at: string): Work<void> {
  yield* addAllUnused.run({ catalog, source, at });
  yield* forgetAll.run({ catalog, source });
}

/** Deletes entries that a source has not had since a time, and later their rendered entries if unused. */
export function* removeFormerEntries({ catalog, source }: Source, before: string, at: string): Work<void> {
  if ((yield* gone.first({ catalog, source })) === undefined) return;
  yield* addUnusedGone.run({ catalog, source, before, at });
  yield* forgetGone.run({ catalog, source, before });
}

/** Reports whether rendered entries have been unused for long enough. */
export function* canCollect(at: string): Work<boolean> {
  return (yield* unusedSince.first({ before: unusedBefore(at), limit: 1 })) !== undefined;
}

/** Deletes some of them. */
export function* collectEntries(at: string): Work<void> {
  for (const { digest } of yield* unusedSince.all({ before: unusedBefore(at), limit: COLLECTED })) {
    yield* collect.run({ digest });
    yield* forgetUnused.run({ digest });
  }
}

function unusedBefore(at: string): string {
  return new Date(Date.parse(at) - UNUSED_MILLISECONDS).toISOString();
}
