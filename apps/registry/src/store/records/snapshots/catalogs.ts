/**
 * Reads and writes catalogs and their snapshots: recipes, entries, segments, profiles, and signatures.
 *
 * A catalog names an entry for a range of serials, so a new snapshot adds rows only for what changed, and every older
 * one can be read from the same rows.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises';
import type {
  CatalogRecord,
  IncludedFunction,
  RenderedEntry,
  ServedEntryReader,
  SnapshotRecord,
  SnapshotStore,
} from '@krmhub/catalog';
import { type Digest, type FunctionName, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, desc, eq, gt, isNotNull, isNull, lt, lte, or, sql } from 'drizzle-orm';
import type { SnapshotArtifacts } from '../../artifacts/artifact-store.js';
import { IN_NEWEST_SNAPSHOT } from '../../search/rows.js';
import type { SearchIndex } from '../../search/search-index.js';
import type { Sql } from '../../sql/sql.js';
import { type Builder, fromList, inList, query, text, together } from '../../sql/statement.js';
import { catalogFunctions, catalogs, snapshots } from '../schema/schema.js';
import { applyRecipe } from './apply-recipe.js';
import { catalogDeletions } from './catalog-deletion.js';
import { catalogEntryRows } from './catalog-entries.js';
import { commitSnapshot } from './commit-snapshot.js';
import { AT_SERIAL, addEntry, type EntryRow, fromEntryRow, toEntryRow } from './entry-row.js';
import { entryTexts } from './entry-texts.js';
import { catalogPurges } from './purge-catalog.js';
import { segmentRows } from './segments.js';
import { servedReleases } from './served-releases.js';
import { signatureRows } from './signatures.js';

export type CatalogRows = Omit<SnapshotStore, keyof ServedEntryReader | keyof SnapshotArtifacts> &
  SnapshotArtifacts;

const name = sql.placeholder('name');

/** With the newest snapshot of each catalog. */
const withNewest = (db: Builder) =>
  db
    .select({ catalog: catalogs, newest: snapshots })
    .from(catalogs)
    .leftJoin(
      snapshots,
      and(
        eq(snapshots.catalog, catalogs.name),
        sql`${snapshots.serial} = (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = ${catalogs.name})`,
      ),
    );
const all = query((db) => withNewest(db).where(isNull(catalogs.deleted)).orderBy(asc(catalogs.name)));
const one = query((db) => withNewest(db).where(and(eq(catalogs.name, name), isNull(catalogs.deleted))));
const newestSnapshots = query((db) =>
  db
    .select()
    .from(snapshots)
    .where(and(eq(snapshots.catalog, name), lt(snapshots.serial, sql.placeholder('before'))))
    .orderBy(desc(snapshots.serial))
    .limit(sql.placeholder('limit')),
);
const bySerial = query((db) =>
  db
    .select()
    .from(snapshots)
    .where(and(eq(snapshots.catalog, name), eq(snapshots.serial, sql.placeholder('serial')))),
);
// A catalog can return to earlier bytes: the newest snapshot that is not withdrawn is used.
const byDigest = query((db) =>
  db
    .select()
    .from(snapshots)
    .where(and(eq(snapshots.catalog, name), eq(snapshots.digest, sql.placeholder('digest'))))
    .orderBy(isNotNull(snapshots.withdrawn), desc(snapshots.serial))
    .limit(1),
);
const latestRows = text<EntryRow>(
  `SELECT group_name AS "group", kind, entry, selection FROM catalog_function
   WHERE catalog = :name AND to_serial IS NULL ORDER BY group_name, kind`,
);
/** Entries from which they are a part of a large build or sync. */
const PART_ENTRIES = 100;
/** Entry rows whose names are read before other work runs. */
const NAMES_PAGE = 1_000;
const latestNamesAfter = text<FunctionName>(
  `SELECT group_name AS "group", kind FROM catalog_function
   WHERE catalog = :name AND to_serial IS NULL AND (group_name, kind) > (:group, :kind)
   ORDER BY group_name, kind LIMIT ${NAMES_PAGE}`,
);
const selectNamed = (when: string) =>
  text<EntryRow>(
    fromList(
      (
        list,
        join,
      ) => `SELECT group_name AS "group", kind, entry, selection FROM ${list} ${join} catalog_function
       ON catalog = :name AND group_name = wanted.value ->> 0 AND kind = wanted.value ->> 1
     WHERE ${when} ORDER BY wanted.position`,
      ':names',
    ),
  );
const selectLatest = selectNamed('to_serial IS NULL');
const selectAt = selectNamed(AT_SERIAL);
const rowsAt = query((db) =>
  db
    .select()
    .from(catalogFunctions)
    .where(
      and(
        eq(catalogFunctions.catalog, name),
        lte(catalogFunctions.fromSerial, sql.placeholder('serial')),
        or(isNull(catalogFunctions.toSerial), gt(catalogFunctions.toSerial, sql.placeholder('serial'))),
      ),
    )
    .orderBy(asc(catalogFunctions.group), asc(catalogFunctions.kind)),
);
const containing = text<{ catalog: string }>(
  `SELECT catalog FROM catalog_function AS place
   WHERE group_name = :group AND lower(kind) = lower(:kind) AND entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}
   ORDER BY catalog`,
);
const COMBINED = {
  sqlite: '(SELECT value FROM json_each(:combined)) AS combined',
  postgres: 'json_array_elements_text(:combined::json) AS combined (value)',
};
const naming = text<{ catalog: string }>(
  fromList(
    (list, join, dialect) => `SELECT catalog FROM ${list} ${join} catalog_function
       ON group_name = wanted.value ->> 0 AND lower(kind) = wanted.value ->> 1
     UNION SELECT catalog FROM ${list}
       CROSS JOIN ${COMBINED[dialect]}
       ${join} upstream_entry ON catalog = combined.value AND group_name = wanted.value ->> 0`,
    ':names',
  ),
);
const passOver = text(
  inList(
    (catalogs) => `UPDATE catalog SET through_event = :throughEvent
     WHERE name IN ${catalogs} AND through_event > 0 AND through_event < :throughEvent
       AND applied_event <= :throughEvent AND deleted IS NULL`,
    ':catalogs',
  ),
);
const NEWEST = '(SELECT MAX(serial) FROM snapshot WHERE catalog = :name)';
const included = text<IncludedFunction>(
  `SELECT group_name AS "group", MIN(kind) AS kind, MIN(from_serial) AS "from",
     MAX(COALESCE(to_serial - 1, ${NEWEST})) AS "to"
   FROM catalog_function
   WHERE catalog = :name AND entry IS NOT NULL AND from_serial <= ${NEWEST}
   GROUP BY group_name, lower(kind) ORDER BY group_name, lower(kind)`,
);
const selectEntries = text<RenderedEntry>(
  inList((digests) => `SELECT digest, yaml, json FROM entry WHERE digest IN ${digests}`, ':digests'),
);
const entryAt = text<RenderedEntry>(
  `SELECT entry.digest, entry.yaml, entry.json FROM catalog_function
   JOIN entry ON entry.digest = catalog_function.entry
   WHERE catalog = :name AND group_name = :group AND kind = :kind AND ${AT_SERIAL}`,
);

/** For `fromList`. */
function nameList(names: readonly FunctionName[]): string {
  return JSON.stringify(names.map(({ group, kind }) => [group, kind]));
}

export function catalogRows(database: Sql, search: SearchIndex): CatalogRows {
  const { readOne, write } = database;
  return {
    catalogs: () =>
      readOne(function* () {
        return (yield* all.all()).map(catalogRecord);
      }),
    catalog: (wanted) =>
      readOne(function* () {
        const row = yield* one.first({ name: wanted });
        return row && catalogRecord(row);
      }),
    catalogsContaining: (group, kind) =>
      readOne(function* () {
        return (yield* containing.all({ group, kind })).map(({ catalog }) => catalog);
      }),
    catalogsNaming: (functions, combined) =>
      readOne(function* () {
        const names = JSON.stringify(functions.map(({ group, kind }) => [group, kind.toLowerCase()]));
        return (yield* naming.all({ names, combined: JSON.stringify(combined) })).map(
          ({ catalog }) => catalog,
        );
      }),
    passOver: (catalogs, throughEvent) =>
      write(function* () {
        yield* passOver.run({ catalogs: JSON.stringify(catalogs), throughEvent });
      }),
    includedFunctions: (name) => readOne(() => included.all({ name })),
    applyRecipe: applyRecipe(database),
    latestEntryRows: (wanted, names) =>
      readOne(function* () {
        if (names === undefined) return (yield* latestRows.all({ name: wanted })).map(toEntryRow);
        if (names.length === 0) return [];
        return (yield* selectLatest.all({ name: wanted, names: nameList(names) })).map(toEntryRow);
      }),
    async *latestEntryNames(wanted) {
      let after: FunctionName = { group: '', kind: '' };
      for (;;) {
        const page = await readOne(() => latestNamesAfter.all({ name: wanted, ...after }));
        yield* page;
        const last = page.at(-1);
        if (last === undefined || page.length < NAMES_PAGE) return;
        after = last;
        await setImmediate();
      }
    },
    snapshotEntry: (wanted, serial, { group, kind }) =>
      readOne(() => entryAt.first({ name: wanted, serial, group, kind })),
    commitSnapshot: commitSnapshot(database, search),
    snapshots: (wanted, limit, before = Number.MAX_SAFE_INTEGER) =>
      readOne(function* () {
        const rows = yield* newestSnapshots.all({ name: wanted, limit: Math.max(0, limit), before });
        return rows.map(snapshotRecord);
      }),
    snapshot: (wanted, reference) =>
      readOne(function* () {
        const row =
          typeof reference === 'number'
            ? yield* bySerial.first({ name: wanted, serial: reference })
            : yield* byDigest.first({ name: wanted, digest: reference });
        return row && snapshotRecord(row);
      }),
    snapshotEntryRows: (wanted, serial, names) =>
      readOne(function* () {
        if (names?.length === 0) return [];
        if (names !== undefined)
          return (yield* selectAt.all({ name: wanted, serial, names: nameList(names) })).map(toEntryRow);
        return (yield* rowsAt.all({ name: wanted, serial })).map(fromEntryRow);
      }),
    ...signatureRows(database),
    ...catalogDeletions(database),
    ...catalogPurges(database),
    ...catalogEntryRows(database),
    ...servedReleases(database),
    ...entryTexts(database),
    ...segmentRows(database),
    storeEntries: (added) =>
      write(
        function* () {
          yield* together(added.map(addEntry));
        },
        { isPart: added.length >= PART_ENTRIES },
      ),
    entries: (digests) =>
      readOne(function* () {
        if (digests.length === 0) return new Map<Digest, RenderedEntry>();
        const rows = yield* selectEntries.all({ digests: JSON.stringify(digests) });
        const found = new Map(rows.map((entry) => [entry.digest, entry]));
        const missing = digests.find((digest) => !found.has(digest));
        if (missing !== undefined) throw new KrmhubError('internal', `rendered entry ${missing} is missing`);
        return new Map(digests.map((digest) => [digest, found.get(digest)!]));
      }),
  };
}

function catalogRecord({
  catalog: { appliedEvent: _, searchedSerial: __, deleted: ___, ...row },
  newest,
}: {
  catalog: typeof catalogs.$inferSelect;
  newest: typeof snapshots.$inferSelect | null;
}): CatalogRecord {
  return { ...row, ...defined({ newest: newest ? snapshotRecord(newest) : undefined }) };
}

function snapshotRecord(columns: typeof snapshots.$inferSelect): SnapshotRecord {
  const { digest: _, labels, documents, withdrawn, sources, ...row } = columns;
  return {
    ...row,
    ...defined({
      labels: labels ?? undefined,
      documents: documents ?? undefined,
      sources: sources ?? undefined,
      withdrawn: withdrawn ?? undefined,
    }),
  };
}
