/**
 * Reads and writes upstream sources and their entries.
 *
 * An entry that a source no longer has stays stored for a while, so that it keeps its age if it returns.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import type { SourceStore, UpstreamCandidates, UpstreamEntry, UpstreamEntryName } from '@krmhub/catalog';
import type { Digest, FunctionName } from '@krmhub/schema';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { query, text, type Work } from '../../sql/statement.js';
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

/** Not of a deleted catalog. */
const isCurrent = sql`${catalogSources.catalog} NOT IN (SELECT name FROM catalog WHERE deleted IS NOT NULL)`;
const all = query((db) =>
  db
    .select()
    .from(catalogSources)
    .where(isCurrent)
    .orderBy(asc(catalogSources.catalog), asc(catalogSources.source)),
);
const ofCatalog = query((db) =>
  db
    .select()
    .from(catalogSources)
    .where(and(eq(catalogSources.catalog, sql.placeholder('catalog')), isCurrent))
    .orderBy(asc(catalogSources.source)),
);
const kept = query((db) =>
  db
    .select()
    .from(catalogSources)
    .where(eq(catalogSources.catalog, sql.placeholder('catalog')))
    .orderBy(asc(catalogSources.source)),
);
const one = query((db) =>
  db
    .select()
    .from(catalogSources)
    .where(
      and(
        eq(catalogSources.catalog, sql.placeholder('catalog')),
        eq(catalogSources.source, sql.placeholder('source')),
        isCurrent,
      ),
    ),
);
const copies = text<{ digest: Digest }>(COPIES);
const selectEntries = text<UpstreamEntryName>(
  `SELECT group_name AS "group", kind, definition FROM upstream_entry
   WHERE catalog = :catalog AND source = :source AND gone_at IS NULL ORDER BY group_name, kind`,
);
// Returns only the first of spellings that differ by case.
const namesAfter = text<FunctionName>(
  `SELECT DISTINCT group_name AS "group", kind FROM upstream_entry AS one
   WHERE catalog = :catalog AND gone_at IS NULL AND (group_name, kind) > (:group, :kind) AND NOT EXISTS (
     SELECT 1 FROM upstream_entry AS other
     WHERE other.catalog = one.catalog AND other.group_name = one.group_name
       AND other.kind_folded = one.kind_folded AND other.gone_at IS NULL AND other.kind < one.kind)
   ORDER BY group_name, kind LIMIT ${PAGE}`,
);
const groupsAfter = text<{ catalog: string; group: string }>(
  `SELECT DISTINCT catalog, group_name AS "group" FROM upstream_entry
   WHERE (catalog, group_name) > (:catalog, :group) AND gone_at IS NULL ORDER BY catalog, group_name LIMIT ${PAGE}`,
);
// A group stays with this registry after a takedown of its releases.
const holding = text<{ held: number }>(
  `SELECT 1 AS held WHERE EXISTS (SELECT 1 FROM function JOIN release ON function_id = function.id WHERE group_name = :group)
     OR EXISTS (SELECT 1 FROM takedown WHERE group_name = :group)`,
);
const allHolding = text<{ group: string }>(
  `SELECT group_name AS "group" FROM function JOIN release ON function_id = function.id
   UNION SELECT group_name FROM takedown ORDER BY 1`,
);
const namesIn = text<FunctionName>(
  `SELECT DISTINCT group_name AS "group", kind FROM upstream_entry
   WHERE catalog = :catalog AND group_name = :group AND gone_at IS NULL ORDER BY kind`,
);
const selectOffers = text<EntryRow>(
  `SELECT ${ENTRY_COLUMNS} FROM upstream_entry AS one
   WHERE one.catalog = :catalog AND one.group_name = :group AND one.kind_folded = :folded AND one.source IN (
     SELECT source FROM upstream_entry
     WHERE catalog = :catalog AND group_name = :group AND kind_folded = :folded AND gone_at IS NULL)
   ORDER BY one.source, one.gone_at IS NOT NULL, one.gone_at DESC, one.definition`,
);

export function sourceRows(database: Sql): SourceStore {
  const { read, readOne } = database;
  return {
    sources: (catalog) =>
      readOne(function* () {
        const rows = catalog === undefined ? yield* all.all() : yield* ofCatalog.all({ catalog });
        return rows.map(sourceRecord);
      }),
    keptSources: (catalog) =>
      readOne(function* () {
        return (yield* kept.all({ catalog })).map(sourceRecord);
      }),
    source: (catalog, source) =>
      readOne(function* () {
        const row = yield* one.first({ catalog, source });
        return row && sourceRecord(row);
      }),
    sourceCopyDigests: () =>
      read(function* () {
        return new Set((yield* copies.all()).map(({ digest }) => digest));
      }),
    sourceEntries: (catalog, source) => read(() => selectEntries.all({ catalog, source })),
    commitRefresh: commitRefresh(database),
    upstreamCandidates: (catalog, names) => read(() => offersFor(catalog, names)),
    async *allUpstreamCandidates(catalog) {
      let after = { group: '', kind: '' };
      for (;;) {
        const page = await read(function* () {
          return yield* offersFor(catalog, yield* namesAfter.all({ catalog, ...after }));
        });
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = { group: last.group, kind: last.kind };
        await setImmediate();
      }
    },
    ownedGroups: (groups) =>
      read(function* () {
        const owned = new Set<string>();
        if (groups === undefined) return new Set((yield* allHolding.all()).map(({ group }) => group));
        for (const group of new Set(groups)) {
          if ((yield* holding.first({ group })) !== undefined) owned.add(group);
        }
        return owned;
      }),
    upstreamFunctionNames: (catalog, group) => read(() => namesIn.all({ catalog, group })),
    async *upstreamGroups() {
      let after = { catalog: '', group: '' };
      for (;;) {
        const page = await read(() => groupsAfter.all(after));
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return;
        after = last;
        await setImmediate();
      }
    },
    advanceCatalogClock: applyMinimumAge(database),
    nextMinimumAgeAt: nextMinimumAge(database),
  };
}

function* offersFor(catalog: string, names: readonly FunctionName[]): Work<UpstreamCandidates[]> {
  const found: UpstreamCandidates[] = [];
  for (const { group, kind } of names) {
    const offers = new Map<string, UpstreamEntry[]>();
    for (const row of yield* selectOffers.all({ catalog, group, folded: kind.toLowerCase() })) {
      const others = offers.get(row.source);
      if (others === undefined) offers.set(row.source, [upstreamEntry(row)]);
      else if (others.length <= MAX_FORMER_ENTRIES) others.push(upstreamEntry(row));
    }
    found.push({ group, kind, candidates: offers });
  }
  return found;
}
