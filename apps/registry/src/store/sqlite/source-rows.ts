import type { SourceRecord, UpstreamEntry } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { catalogSources, EntryFacts } from '../schema/sources.js';
import type { Connection } from './connection.js';

/** The row without its empty columns. */
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

/** Columns of an upstream entry as SQL gives them. */
export interface EntryRow {
  source: string;
  group: string;
  kind: string;
  definition: Digest;
  /** JSON. */
  facts: string;
  firstSeen: string;
}

export const ENTRY_COLUMNS = `one.source, one.group_name AS "group", one.kind, one.definition, one.facts,
  one.first_seen AS firstSeen`;

export function upstreamEntry({ source: _, facts, ...row }: EntryRow): UpstreamEntry {
  return { ...row, ...(JSON.parse(facts) as EntryFacts) };
}

/** Entries that a cut may be reading are left for so long: milliseconds. */
const LOOSE_MILLISECONDS = 3_600_000;
/** Entries collected at once. */
const COLLECTED = 1_000;

/**
 * Forgets entries of sources, and later their rendered entries where nothing else names them; to be called in
 * a transaction.
 */
export function entryForgetter({ client }: Connection) {
  const loosen = (condition: string) =>
    `INSERT OR IGNORE INTO loose_entry (digest, since)
     SELECT DISTINCT definition, :at FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}`;
  const forget = (condition: string) =>
    `DELETE FROM upstream_entry WHERE catalog = :catalog AND source = :source ${condition}`;
  const gone = 'AND gone_at < :before';
  type Source = { catalog: string; source: string };
  const loosenAll = client.prepare<Source & { at: string }>(loosen(''));
  const forgetAll = client.prepare<Source>(forget(''));
  const loosenGone = client.prepare<Source & { at: string; before: string }>(loosen(gone));
  const forgetGone = client.prepare<Source & { before: string }>(forget(gone));
  const looseSince = client
    .prepare<[string, number], Digest>('SELECT digest FROM loose_entry WHERE since < ? LIMIT ?')
    .pluck();
  const tighten = client.prepare<[Digest]>('DELETE FROM loose_entry WHERE digest = ?');
  const collect = client.prepare<{ digest: Digest }>(
    `DELETE FROM entry WHERE digest = :digest
       AND NOT EXISTS (SELECT 1 FROM catalog_function WHERE entry = :digest)
       AND NOT EXISTS (SELECT 1 FROM upstream_entry WHERE definition = :digest)`,
  );
  return {
    all(source: Source, at: string): void {
      const { catalog, source: name } = source;
      loosenAll.run({ catalog, source: name, at });
      forgetAll.run({ catalog, source: name });
    },
    goneBefore(source: Source, before: string, at: string): void {
      const { catalog, source: name } = source;
      loosenGone.run({ catalog, source: name, before, at });
      forgetGone.run({ catalog, source: name, before });
    },
    collect(at: string): void {
      const before = new Date(Date.parse(at) - LOOSE_MILLISECONDS).toISOString();
      for (const digest of looseSince.all(before, COLLECTED)) {
        collect.run({ digest });
        tighten.run(digest);
      }
    },
  };
}
