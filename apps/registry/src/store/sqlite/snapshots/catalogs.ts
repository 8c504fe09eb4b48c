import type { CatalogRecord, RenderedEntry, SnapshotRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, asc, desc, eq, gt, isNotNull, isNull, lte, or, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { catalogFunctions, catalogs, entries, snapshots } from '../schema/schema.js';
import { IN_NEWEST_SNAPSHOT } from '../search/rows.js';
import { applyRecipe } from './apply-recipe.js';
import { type CatalogDeletions, catalogDeletions } from './catalog-deletion.js';
import { catalogEntryRows } from './catalog-entries.js';
import { commitSnapshot } from './commit-snapshot.js';
import { type EntryRow, fromEntryRow, toEntryRow } from './entry-row.js';
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

export function catalogRows(connection: Connection): CatalogRows {
  const { client, db, read, write } = connection;
  const all = prepared(() =>
    db.select().from(catalogs).where(isNull(catalogs.deleted)).orderBy(asc(catalogs.name)).prepare(),
  );
  const one = prepared(() =>
    db
      .select()
      .from(catalogs)
      .where(and(eq(catalogs.name, name), isNull(catalogs.deleted)))
      .prepare(),
  );
  const newestSnapshots = prepared(() =>
    db
      .select()
      .from(snapshots)
      .where(eq(snapshots.catalog, name))
      .orderBy(desc(snapshots.serial))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const bySerial = prepared(() =>
    db
      .select()
      .from(snapshots)
      .where(and(eq(snapshots.catalog, name), eq(snapshots.serial, sql.placeholder('serial'))))
      .prepare(),
  );
  // A catalog can return to earlier bytes: the newest snapshot that is not withdrawn is used.
  const byDigest = prepared(() =>
    db
      .select()
      .from(snapshots)
      .where(and(eq(snapshots.catalog, name), eq(snapshots.digest, sql.placeholder('digest'))))
      .orderBy(isNotNull(snapshots.withdrawn), desc(snapshots.serial))
      .limit(1)
      .prepare(),
  );
  const latestRows = prepared(() =>
    client.prepare<[string], EntryRow>(
      `SELECT group_name AS "group", kind, entry, selection FROM catalog_function
     WHERE catalog = ? AND to_serial IS NULL ORDER BY group_name, kind`,
    ),
  );
  const latestRow = prepared(() =>
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
      )
      .prepare(),
  );
  const rowsAt = prepared(() =>
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
      .orderBy(asc(catalogFunctions.group), asc(catalogFunctions.kind))
      .prepare(),
  );
  const containing = prepared(() =>
    client
      .prepare<[string, string], string>(
        `SELECT catalog FROM catalog_function AS place
       WHERE group_name = ? AND lower(kind) = lower(?) AND entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}
       ORDER BY catalog`,
      )
      .pluck(),
  );
  const entry = prepared(() =>
    db
      .select()
      .from(entries)
      .where(eq(entries.digest, sql.placeholder('digest')))
      .prepare(),
  );

  const newestEntry = prepared(() =>
    client.prepare<[string, string, string], RenderedEntry>(
      `SELECT entry.digest, entry.yaml, entry.json FROM catalog_function AS place
     JOIN entry ON entry.digest = place.entry
     WHERE place.catalog = ? AND place.group_name = ? AND place.kind = ? AND place.to_serial IS NULL`,
    ),
  );

  const addEntry = prepared(() =>
    client.prepare<[string, string, string]>(
      'INSERT OR IGNORE INTO entry (digest, yaml, json) VALUES (?, ?, ?)',
    ),
  );

  const record = ({
    appliedEvent: _,
    searchedSerial: __,
    deleted: ___,
    ...row
  }: typeof catalogs.$inferSelect): CatalogRecord => {
    const [newest] = newestSnapshots.all({ name: row.name, limit: 1 });
    return { ...row, ...(newest && { newest: snapshot(newest) }) };
  };

  return {
    catalogs: () => read(() => all.all().map(record)),
    catalog: (wanted) =>
      read(() => {
        const row = one.get({ name: wanted });
        return row && record(row);
      }),
    catalogsContaining: (group, kind) => read(() => containing.all(group, kind)),
    applyRecipe: applyRecipe(connection),
    latestEntryRows: (wanted, names) =>
      read(() => {
        if (names === undefined) return latestRows.all(wanted).map(toEntryRow);
        return names.flatMap(({ group, kind }) =>
          latestRow.all({ name: wanted, group, kind }).map(fromEntryRow),
        );
      }),
    latestEntry: (wanted, group, kind) => read(() => newestEntry.get(wanted, group, kind)),
    commitSnapshot: commitSnapshot(connection),
    snapshots: (wanted, limit) =>
      read(() => newestSnapshots.all({ name: wanted, limit: Math.max(0, limit) }).map(snapshot)),
    snapshot: (wanted, reference) =>
      read(() => {
        const row =
          typeof reference === 'number'
            ? bySerial.get({ name: wanted, serial: reference })
            : byDigest.get({ name: wanted, digest: reference });
        return row && snapshot(row);
      }),
    snapshotEntryRows: (wanted, serial) => read(() => rowsAt.all({ name: wanted, serial }).map(fromEntryRow)),
    ...signatureRows(connection),
    ...catalogDeletions(connection),
    ...catalogPurges(connection),
    ...catalogEntryRows(connection),
    ...entryTexts(connection),
    ...segmentRows(connection),
    storeEntries: (added) =>
      write(() => {
        for (const { digest, yaml, json } of added) addEntry.run(digest, yaml, json);
      }),
    entries: (digests) =>
      read(
        () =>
          new Map(
            digests.map((digest) => {
              const found = entry.get({ digest });
              if (found === undefined)
                throw new KrmhubError('internal', `rendered entry ${digest} is missing`);
              return [digest, found];
            }),
          ),
      ),
  };
}

function snapshot(columns: typeof snapshots.$inferSelect): SnapshotRecord {
  const { digest: _, labels, documents, withdrawn, sources, ...row } = columns;
  return {
    ...row,
    ...(labels !== null && { labels }),
    ...(documents !== null && { documents }),
    ...(sources !== null && { sources }),
    ...(withdrawn !== null && { withdrawn }),
  };
}
