import { setImmediate } from 'node:timers/promises';
import type { SourceStore, UpstreamCandidates, UpstreamEntry, UpstreamEntryName } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { catalogSources } from '../schema/sources.js';
import { commitRefresh } from './commit-refresh.js';
import { applyMinimumAge, nextMinimumAge } from './minimum-age.js';
import {
  COPIES,
  ENTRY_COLUMNS,
  type EntryRow,
  MAX_FORMER_ENTRIES,
  sourceRecord,
  upstreamEntry,
} from './source-rows.js';

/** Functions per read; other work runs between two pages. */
const PAGE = 200;

export function sourceRows(connection: Connection): SourceStore {
  const { client, db, read } = connection;
  /** Not of a deleted catalog. */
  const isCurrent = sql`${catalogSources.catalog} NOT IN (SELECT name FROM catalog WHERE deleted IS NOT NULL)`;
  const all = prepared(() =>
    db
      .select()
      .from(catalogSources)
      .where(isCurrent)
      .orderBy(asc(catalogSources.catalog), asc(catalogSources.source))
      .prepare(),
  );
  const ofCatalog = prepared(() =>
    db
      .select()
      .from(catalogSources)
      .where(and(eq(catalogSources.catalog, sql.placeholder('catalog')), isCurrent))
      .orderBy(asc(catalogSources.source))
      .prepare(),
  );
  const one = prepared(() =>
    db
      .select()
      .from(catalogSources)
      .where(
        and(
          eq(catalogSources.catalog, sql.placeholder('catalog')),
          eq(catalogSources.source, sql.placeholder('source')),
          isCurrent,
        ),
      )
      .prepare(),
  );
  const copies = prepared(() => client.prepare<[], Digest>(COPIES).pluck());
  const entriesOf = prepared(() =>
    client.prepare<[string, string], UpstreamEntryName>(
      `SELECT group_name AS "group", kind, definition FROM upstream_entry
     WHERE catalog = ? AND source = ? AND gone_at IS NULL ORDER BY group_name, kind`,
    ),
  );
  const offersOf = offerFinder(connection);
  // Returns only the first of spellings that differ by case.
  const namesAfter = prepared(() =>
    client.prepare<{ catalog: string; group: string; kind: string }, FunctionName>(
      `SELECT DISTINCT group_name AS "group", kind FROM upstream_entry AS one
     WHERE catalog = :catalog AND gone_at IS NULL AND (group_name, kind) > (:group, :kind) AND NOT EXISTS (
       SELECT 1 FROM upstream_entry AS other
       WHERE other.catalog = one.catalog AND other.group_name = one.group_name
         AND other.kind_folded = one.kind_folded AND other.gone_at IS NULL AND other.kind < one.kind)
     ORDER BY group_name, kind LIMIT ${PAGE}`,
    ),
  );
  // A group stays with this registry after a takedown of its releases.
  const holding = prepared(() =>
    client.prepare<{ group: string }, unknown>(
      `SELECT 1 WHERE EXISTS (SELECT 1 FROM function JOIN release ON function_id = function.id WHERE group_name = :group)
       OR EXISTS (SELECT 1 FROM takedown WHERE group_name = :group)`,
    ),
  );
  const namesIn = prepared(() =>
    client.prepare<[string, string], FunctionName>(
      `SELECT DISTINCT group_name AS "group", kind FROM upstream_entry
     WHERE catalog = ? AND group_name = ? AND gone_at IS NULL ORDER BY kind`,
    ),
  );

  return {
    sources: (catalog) =>
      read(() => (catalog === undefined ? all.all() : ofCatalog.all({ catalog })).map(sourceRecord)),
    source: (catalog, source) =>
      read(() => {
        const row = one.get({ catalog, source });
        return row && sourceRecord(row);
      }),
    sourceCopyDigests: () => read(() => new Set(copies.all())),
    sourceEntries: (catalog, source) => read(() => entriesOf.all(catalog, source)),
    commitRefresh: commitRefresh(connection),
    upstreamCandidates: (catalog, names) => read(() => names.map((name) => offersOf(catalog, name))),
    async *allUpstreamCandidates(catalog) {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await read(() =>
          namesAfter.all({ catalog, ...after }).map((name) => offersOf(catalog, name)),
        );
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },
    ownedGroups: (groups) =>
      read(() => new Set([...new Set(groups)].filter((group) => holding.get({ group }) !== undefined))),
    upstreamFunctionNames: (catalog, group) => read(() => namesIn.all(catalog, group)),
    advanceCatalogClock: applyMinimumAge(connection),
    nextMinimumAgeAt: nextMinimumAge(connection),
  };
}

function offerFinder({ client }: Connection): (catalog: string, name: FunctionName) => UpstreamCandidates {
  const find = prepared(() =>
    client.prepare<{ catalog: string; group: string; folded: string }, EntryRow>(
      `SELECT ${ENTRY_COLUMNS} FROM upstream_entry AS one
     WHERE one.catalog = :catalog AND one.group_name = :group AND one.kind_folded = :folded AND one.source IN (
       SELECT source FROM upstream_entry
       WHERE catalog = :catalog AND group_name = :group AND kind_folded = :folded AND gone_at IS NULL)
     ORDER BY one.source, one.gone_at IS NOT NULL, one.gone_at DESC, one.definition`,
    ),
  );
  return (catalog, { group, kind }) => {
    const offers = new Map<string, UpstreamEntry[]>();
    for (const row of find.all({ catalog, group, folded: kind.toLowerCase() })) {
      const others = offers.get(row.source);
      if (others === undefined) offers.set(row.source, [upstreamEntry(row)]);
      else if (others.length <= MAX_FORMER_ENTRIES) others.push(upstreamEntry(row));
    }
    return { group, kind, candidates: offers };
  };
}
