import type { CatalogEntryRow, CatalogRecord, RenderedEntry, SnapshotRecord } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { and, asc, desc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Sql } from '../../sql/sql.js';
import { inList, query, text, type Work } from '../../sql/statement.js';
import { catalogFunctions, catalogs, snapshots } from '../schema/schema.js';
import { IN_NEWEST_SNAPSHOT } from '../search/rows.js';
import type { SearchIndex } from '../search/search-index.js';
import { applyRecipe } from './apply-recipe.js';
import { type CatalogDeletions, catalogDeletions } from './catalog-deletion.js';
import { catalogEntryRows } from './catalog-entries.js';
import { commitSnapshot } from './commit-snapshot.js';
import { addEntry, type EntryRow, fromEntryRow, toEntryRow } from './entry-row.js';
import { entryTexts } from './entry-texts.js';
import { type CatalogPurges, catalogPurges } from './purge-catalog.js';
import { segmentRows } from './segments.js';
import { signatureRows } from './signatures.js';

export type CatalogRows = Pick<
  RegistryStore,
  | 'catalogs'
  | 'catalog'
  | 'catalogsContaining'
  | 'applyRecipe'
  | 'latestEntryRows'
  | 'latestEntry'
  | 'commitSnapshot'
  | 'snapshots'
  | 'snapshot'
  | 'snapshotEntryRows'
  | 'snapshotSignature'
  | 'renewSignature'
  | 'hasSignatures'
  | 'signatureKeys'
  | 'signatureBundle'
  | keyof ReturnType<typeof entryTexts>
  | keyof ReturnType<typeof segmentRows>
  | 'entryPage'
  | 'countEntries'
  | 'changedEntries'
  | 'storeEntries'
  | 'entries'
  | keyof CatalogDeletions
  | keyof CatalogPurges
>;

const name = sql.placeholder('name');

const all = query((db) =>
  db.select().from(catalogs).where(isNull(catalogs.deleted)).orderBy(asc(catalogs.name)),
);
const one = query((db) =>
  db
    .select()
    .from(catalogs)
    .where(and(eq(catalogs.name, name), isNull(catalogs.deleted))),
);
const newestSnapshots = query((db) =>
  db
    .select()
    .from(snapshots)
    .where(eq(snapshots.catalog, name))
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
const latestRow = query((db) =>
  db
    .select()
    .from(catalogFunctions)
    .where(
      and(
        eq(catalogFunctions.catalog, name),
        eq(catalogFunctions.group, sql.placeholder('group')),
        eq(catalogFunctions.kind, sql.placeholder('kind')),
        isNull(catalogFunctions.toSerial),
      ),
    ),
);
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
const entriesOf = text<RenderedEntry>(
  inList((digests) => `SELECT digest, yaml, json FROM entry WHERE digest IN ${digests}`, ':digests'),
);
const newestEntry = text<RenderedEntry>(
  `SELECT entry.digest, entry.yaml, entry.json FROM catalog_function AS place
   JOIN entry ON entry.digest = place.entry
   WHERE place.catalog = :name AND place.group_name = :group AND place.kind = :kind AND place.to_serial IS NULL`,
);

export function catalogRows(database: Sql, search: SearchIndex): CatalogRows {
  const { read, write } = database;
  return {
    catalogs: () =>
      read(function* () {
        const records: CatalogRecord[] = [];
        for (const row of yield* all.all()) records.push(yield* catalogRecord(row));
        return records;
      }),
    catalog: (wanted) =>
      read(function* () {
        const row = yield* one.first({ name: wanted });
        return row && (yield* catalogRecord(row));
      }),
    catalogsContaining: (group, kind) =>
      read(function* () {
        return (yield* containing.all({ group, kind })).map(({ catalog }) => catalog);
      }),
    applyRecipe: applyRecipe(database),
    latestEntryRows: (wanted, names) =>
      read(function* () {
        if (names === undefined) return (yield* latestRows.all({ name: wanted })).map(toEntryRow);
        const rows: CatalogEntryRow[] = [];
        for (const { group, kind } of names) {
          const row = yield* latestRow.first({ name: wanted, group, kind });
          if (row !== undefined) rows.push(fromEntryRow(row));
        }
        return rows;
      }),
    latestEntry: (wanted, group, kind) => read(() => newestEntry.first({ name: wanted, group, kind })),
    commitSnapshot: commitSnapshot(database, search),
    snapshots: (wanted, limit) =>
      read(function* () {
        return (yield* newestSnapshots.all({ name: wanted, limit: Math.max(0, limit) })).map(snapshotRecord);
      }),
    snapshot: (wanted, reference) =>
      read(function* () {
        const row =
          typeof reference === 'number'
            ? yield* bySerial.first({ name: wanted, serial: reference })
            : yield* byDigest.first({ name: wanted, digest: reference });
        return row && snapshotRecord(row);
      }),
    snapshotEntryRows: (wanted, serial) =>
      read(function* () {
        return (yield* rowsAt.all({ name: wanted, serial })).map(fromEntryRow);
      }),
    ...signatureRows(database),
    ...catalogDeletions(database),
    ...catalogPurges(database),
    ...catalogEntryRows(database),
    ...entryTexts(database),
    ...segmentRows(database),
    storeEntries: (added) =>
      write(function* () {
        for (const entry of added) yield* addEntry(entry);
      }),
    entries: (digests) =>
      read(function* () {
        if (digests.length === 0) return new Map<Digest, RenderedEntry>();
        const rows = yield* entriesOf.all({ digests: JSON.stringify(digests) });
        const found = new Map(rows.map((entry) => [entry.digest, entry]));
        const missing = digests.find((digest) => !found.has(digest));
        if (missing !== undefined) throw new KrmhubError('internal', `rendered entry ${missing} is missing`);
        return found;
      }),
  };
}

function* catalogRecord({
  appliedEvent: _,
  searchedSerial: __,
  deleted: ___,
  ...row
}: typeof catalogs.$inferSelect): Work<CatalogRecord> {
  const newest = yield* newestSnapshots.first({ name: row.name, limit: 1 });
  return { ...row, ...(newest && { newest: snapshotRecord(newest) }) };
}

function snapshotRecord(columns: typeof snapshots.$inferSelect): SnapshotRecord {
  const { digest: _, labels, documents, withdrawn, sources, ...row } = columns;
  return {
    ...row,
    ...(labels !== null && { labels }),
    ...(documents !== null && { documents }),
    ...(sources !== null && { sources }),
    ...(withdrawn !== null && { withdrawn }),
  };
}
