import { type CatalogEntryRow, RevisionConflict, type SnapshotBuild } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { artifactWriter, eventAppender } from '../run-now.js';
import { catalogFunctions, catalogs, entries, snapshots } from '../schema/schema.js';
import { sqliteIndex as search } from '../search/sqlite-index.js';
import { segmentWriter } from './segments.js';
import { signatureWriter } from './signatures.js';

export function commitSnapshot(connection: Connection): RegistryStore['commitSnapshot'] {
  const { db, write } = connection;
  const appendEvent = eventAppender(connection);
  const storeEntryRow = entryRowWriter(connection);
  const artifacts = artifactWriter(connection);
  const signatures = signatureWriter(connection);
  const writeSegments = segmentWriter(connection);
  const addEntry = prepared(() =>
    db
      .insert(entries)
      .values({
        digest: sql.placeholder('digest'),
        yaml: sql.placeholder('yaml'),
        json: sql.placeholder('json'),
      })
      .onConflictDoNothing()
      .prepare(),
  );

  return (build, artifact, signature) =>
    write(() => {
      const next = nextSerial(connection, build);
      for (const { digest, yaml, json } of build.entries) addEntry.run({ digest, yaml, json });
      for (const changed of build.changed) storeEntryRow(build.catalog, next, changed);
      if (build.snapshot !== undefined) {
        db.insert(snapshots)
          .values({
            ...build.snapshot,
            catalog: build.catalog,
            digest: build.snapshot.digests['catalog.yaml'],
          })
          .run();
        if (build.segments !== undefined) writeSegments(build.catalog, build.segments);
        connection.sql.run(search.snapshotCommitted(build.snapshot));
      }
      if (build.event !== undefined) {
        if (artifact !== undefined) artifacts.putArtifact(artifact, build.event);
        appendEvent(build.event);
      }
      if (build.signature !== undefined) signatures.put(build.signature, signature);
      db.update(catalogs)
        .set({ throughEvent: build.throughEvent })
        .where(eq(catalogs.name, build.catalog))
        .run();
    });
}

/** Returns the serial of the changes. Throws if the catalog changed after the build was planned. */
function nextSerial({ db }: Connection, build: SnapshotBuild): number {
  const current = db.select().from(catalogs).where(eq(catalogs.name, build.catalog)).get();
  if (current === undefined || current.deleted !== null)
    throw new KrmhubError('not-found', `catalog ${build.catalog} not found`);
  if (current.throughEvent !== build.expectedThroughEvent) {
    throw new RevisionConflict(
      `catalog ${build.catalog} is built through event ${current.throughEvent}, expected ${build.expectedThroughEvent}`,
    );
  }
  // Two consecutive recipes both leave the catalog at event 0, and a takedown does not change it.
  if (build.throughEvent < current.appliedEvent) {
    throw new RevisionConflict(
      `catalog ${build.catalog} must be built through event ${current.appliedEvent}, not ${build.throughEvent}`,
    );
  }
  const newest = db
    .select({ serial: snapshots.serial, digest: snapshots.digest })
    .from(snapshots)
    .where(eq(snapshots.catalog, build.catalog))
    .orderBy(desc(snapshots.serial))
    .limit(1)
    .get();
  const next = (newest?.serial ?? 0) + 1;
  const { snapshot } = build;
  if (snapshot && (snapshot.serial !== next || snapshot.previous !== (newest?.digest ?? null))) {
    throw new RevisionConflict(
      `snapshot ${snapshot.serial} does not follow the newest one of catalog ${build.catalog}`,
    );
  }
  return next;
}

/** Stores the entry row of a function from the next serial on. Call it in a transaction. */
export function entryRowWriter({ client, db }: Connection) {
  const group = sql.placeholder('group');
  const kind = sql.placeholder('kind');
  const isOpen = and(
    eq(catalogFunctions.catalog, sql.placeholder('catalog')),
    eq(catalogFunctions.group, group),
    eq(catalogFunctions.kind, kind),
    isNull(catalogFunctions.toSerial),
  );
  const open = prepared(() =>
    db.select({ fromSerial: catalogFunctions.fromSerial }).from(catalogFunctions).where(isOpen).prepare(),
  );
  const close = prepared(() =>
    db
      .update(catalogFunctions)
      .set({ toSerial: sql`${sql.placeholder('next')}` })
      .where(isOpen)
      .prepare(),
  );
  // Replaces a row that already waits for the next snapshot.
  const forget = prepared(() => db.delete(catalogFunctions).where(isOpen).prepare());
  // Prepared once: a build may change every row while other writes wait.
  const add = prepared(() =>
    client.prepare<Record<string, string | number | null>>(
      `INSERT INTO catalog_function (catalog, group_name, kind, from_serial, entry, selection)
     VALUES (:catalog, :group, :kind, :fromSerial, :entry, :selection)`,
    ),
  );

  return (catalog: string, next: number, { group, kind, entry, ...selection }: CatalogEntryRow): void => {
    const current = open.get({ catalog, group, kind });
    if (current?.fromSerial === next) forget.run({ catalog, group, kind });
    else if (current !== undefined) close.run({ catalog, group, kind, next });
    const stored = JSON.stringify(selection satisfies typeof catalogFunctions.$inferInsert.selection);
    add.run({ catalog, group, kind, fromSerial: next, entry: entry ?? null, selection: stored });
  };
}
