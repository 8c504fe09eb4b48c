import type { SourceRecord, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import type { catalogSources, EntryFacts } from '../schema/sources.js';

/** Returns the row without its empty columns. */
export function sourceRecord(row: typeof catalogSources.$inferSelect): SourceRecord {
  const { checkedAt, failure, copy, highest, ...rest } = row;
  return {
    ...rest,
    ...(checkedAt !== null && { checkedAt }),
    ...(failure && { failure }),
    ...(copy && { copy }),
    ...(highest && { highest }),
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
  one.first_seen AS firstSeen, one.gone_at AS goneAt`;

export function upstreamEntry({ source: _, facts, goneAt, ...row }: EntryRow): UpstreamEntry {
  return { ...row, ...(JSON.parse(facts) as EntryFacts), ...(goneAt !== null && { goneAt }) };
}

/** Stored former entries of one function in one source: a source may change all the time. */
export const MAX_FORMER_ENTRIES = 20;
/** Stored former entries of one source. */
const MAX_REMOVED_ENTRIES = 50_000;

/** SQL of the digests of the copies that any source uses. */
export const COPIES = `SELECT DISTINCT copy ->> '$.digest' AS digest FROM catalog_source WHERE copy IS NOT NULL`;

/** Milliseconds for which unused entries are stored: a build may be reading them. */
const LOOSE_MILLISECONDS = 3_600_000;
/** Entries deleted in one transaction. */
const COLLECTED = 500;

/** Deletes entries of sources, and later their rendered entries if unused. Call it in a transaction. */
export function entryRemover({ client }: Connection) {
  const loosen = (condition: string) =>
    `INSERT OR IGNORE INTO loose_entry (digest, since)
     SELECT DISTINCT definition, :at FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}`;
  const forget = (condition: string) =>
    `DELETE FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}`;
  // A former entry may still be in the catalog while its successor is too young.
  const gone = `AND rowid IN (
    SELECT id FROM (
      SELECT one.rowid AS id, one.gone_at < :before AND NOT EXISTS (
          SELECT 1 FROM upstream_entry AS present
          WHERE present.catalog = one.catalog AND present.source = one.source
            AND present.group_name = one.group_name AND present.kind_folded = one.kind_folded
            AND present.gone_at IS NULL AND present.first_seen >= :before) AS old,
        row_number() OVER (PARTITION BY one.group_name, one.kind_folded ORDER BY one.gone_at DESC) AS nth,
        row_number() OVER (ORDER BY one.gone_at DESC) AS place
      FROM upstream_entry AS one
      WHERE one.catalog = :catalog AND one.source = :source AND one.gone_at IS NOT NULL)
    WHERE old OR nth > ${MAX_FORMER_ENTRIES} OR place > ${MAX_REMOVED_ENTRIES})`;
  type Source = { catalog: string; source: string };
  const loosenAll = prepared(() => client.prepare<Source & { at: string }>(loosen('')));
  const forgetAll = prepared(() => client.prepare<Source>(forget('')));
  const hasGone = prepared(() =>
    client
      .prepare<Source, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM upstream_entry
         WHERE catalog = :catalog AND source = :source AND gone_at IS NOT NULL)`,
      )
      .pluck(),
  );
  const loosenGone = prepared(() => client.prepare<Source & { at: string; before: string }>(loosen(gone)));
  const forgetGone = prepared(() => client.prepare<Source & { before: string }>(forget(gone)));
  const looseSince = prepared(() =>
    client
      .prepare<[string, number], Digest>('SELECT digest FROM loose_entry WHERE since < ? LIMIT ?')
      .pluck(),
  );
  const tighten = prepared(() => client.prepare<[Digest]>('DELETE FROM loose_entry WHERE digest = ?'));
  const collect = prepared(() =>
    client.prepare<{ digest: Digest }>(
      `DELETE FROM entry WHERE digest = :digest
       AND NOT EXISTS (SELECT 1 FROM catalog_function WHERE entry = :digest)
       AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE definition = :digest)`,
    ),
  );
  return {
    all(source: Source, at: string): void {
      const { catalog, source: name } = source;
      loosenAll.run({ catalog, source: name, at });
      forgetAll.run({ catalog, source: name });
    },
    goneBefore(source: Source, before: string, at: string): void {
      const { catalog, source: name } = source;
      if (hasGone.get({ catalog, source: name }) === 0) return;
      loosenGone.run({ catalog, source: name, before, at });
      forgetGone.run({ catalog, source: name, before });
    },
    canCollect(at: string): boolean {
      return looseSince.get(looseBefore(at), 1) !== undefined;
    },
    collect(at: string): void {
      for (const digest of looseSince.all(looseBefore(at), COLLECTED)) {
        collect.run({ digest });
        tighten.run(digest);
      }
    },
  };
}

function looseBefore(at: string): string {
  return new Date(Date.parse(at) - LOOSE_MILLISECONDS).toISOString();
}
