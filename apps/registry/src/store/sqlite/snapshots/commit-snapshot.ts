import { type CatalogEntryRow, RevisionConflict, type SnapshotBuild } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import type { RegistryStore } from '../../registry-store.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text, type Work } from '../../sql/statement.js';
import { putArtifact } from '../artifacts/artifact-rows.js';
import { appendEvent } from '../events/append-event.js';
import { catalogFunctions, catalogs, snapshots } from '../schema/schema.js';
import type { SearchIndex } from '../search/search-index.js';
import { addEntry } from './entry-row.js';
import { replaceSegments } from './segments.js';
import { putSignature } from './signatures.js';

const catalog = sql.placeholder('catalog');

const catalogOf = query((db) =>
  db
    .select({
      deleted: catalogs.deleted,
      throughEvent: catalogs.throughEvent,
      appliedEvent: catalogs.appliedEvent,
    })
    .from(catalogs)
    .where(eq(catalogs.name, catalog)),
);
const newestOf = query((db) =>
  db
    .select({ serial: snapshots.serial, digest: snapshots.digest })
    .from(snapshots)
    .where(eq(snapshots.catalog, catalog))
    .orderBy(desc(snapshots.serial))
    .limit(1),
);
const builtThrough = change((db) =>
  db
    .update(catalogs)
    .set({ throughEvent: sql`${sql.placeholder('throughEvent')}` })
    .where(eq(catalogs.name, catalog)),
);

const isOpen = and(
  eq(catalogFunctions.catalog, catalog),
  eq(catalogFunctions.group, sql.placeholder('group')),
  eq(catalogFunctions.kind, sql.placeholder('kind')),
  isNull(catalogFunctions.toSerial),
);
const open = text<{ fromSerial: number }>(
  `SELECT from_serial AS "fromSerial" FROM catalog_function
   WHERE catalog = :catalog AND group_name = :group AND kind = :kind AND to_serial IS NULL`,
);
const close = change((db) =>
  db
    .update(catalogFunctions)
    .set({ toSerial: sql`${sql.placeholder('next')}` })
    .where(isOpen),
);
// Replaces a row that already waits for the next snapshot.
const forget = change((db) => db.delete(catalogFunctions).where(isOpen));
const add = text(
  `INSERT INTO catalog_function (catalog, group_name, kind, from_serial, entry, selection)
   VALUES (:catalog, :group, :kind, :fromSerial, :entry, :selection)`,
);

export function commitSnapshot(
  { write }: Pick<Sql, 'write'>,
  search: SearchIndex,
): RegistryStore['commitSnapshot'] {
  return (build, artifact, signature) =>
    write(function* () {
      const { catalog, throughEvent } = build;
      const next = yield* nextSerial(build);
      for (const entry of build.entries) yield* addEntry(entry);
      for (const changed of build.changed) yield* storeEntryRow(catalog, next, changed);
      if (build.snapshot !== undefined) {
        const row = { ...build.snapshot, catalog, digest: build.snapshot.digests['catalog.yaml'] };
        yield* change((db) => db.insert(snapshots).values(row)).run();
        if (build.segments !== undefined) yield* replaceSegments(catalog, build.segments);
        yield* search.snapshotCommitted(build.snapshot);
      }
      if (build.event !== undefined) {
        if (artifact !== undefined) yield* putArtifact(artifact, build.event);
        yield* appendEvent(build.event);
      }
      if (build.signature !== undefined) yield* putSignature(build.signature, signature);
      yield* builtThrough.run({ catalog, throughEvent });
    });
}

/** Returns the serial of the changes. Throws if the catalog changed after the build was planned. */
function* nextSerial(build: SnapshotBuild): Work<number> {
  const { catalog } = build;
  const current = yield* catalogOf.first({ catalog });
  if (current === undefined || current.deleted !== null)
    throw new KrmhubError('not-found', `catalog ${catalog} not found`);
  if (current.throughEvent !== build.expectedThroughEvent) {
    throw new RevisionConflict(
      `catalog ${catalog} is built through event ${current.throughEvent}, expected ${build.expectedThroughEvent}`,
    );
  }
  // Two consecutive recipes both leave the catalog at event 0, and a takedown does not change it.
  if (build.throughEvent < current.appliedEvent) {
    throw new RevisionConflict(
      `catalog ${catalog} must be built through event ${current.appliedEvent}, not ${build.throughEvent}`,
    );
  }
  const newest = yield* newestOf.first({ catalog });
  const next = (newest?.serial ?? 0) + 1;
  const { snapshot } = build;
  if (snapshot && (snapshot.serial !== next || snapshot.previous !== (newest?.digest ?? null))) {
    throw new RevisionConflict(
      `snapshot ${snapshot.serial} does not follow the newest one of catalog ${catalog}`,
    );
  }
  return next;
}

/** Stores the entry row of a function from the next serial on. */
export function* storeEntryRow(
  catalog: string,
  next: number,
  { group, kind, entry, ...selection }: CatalogEntryRow,
): Work<void> {
  const name = { catalog, group, kind };
  const current = yield* open.first(name);
  if (current?.fromSerial === next) yield* forget.run(name);
  else if (current !== undefined) yield* close.run({ ...name, next });
  const stored = JSON.stringify(selection satisfies typeof catalogFunctions.$inferInsert.selection);
  yield* add.run({ ...name, fromSerial: next, entry: entry ?? null, selection: stored });
}
