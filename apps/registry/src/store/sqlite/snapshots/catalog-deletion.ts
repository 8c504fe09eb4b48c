import {
  type CatalogDeletion,
  type CatalogTombstone,
  RevisionConflict,
  type SnapshotStore,
} from '@krmhub/catalog';
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { eventAppender } from '../run-now.js';
import { catalogs } from '../schema/schema.js';
import { catalogSources } from '../schema/sources.js';

/** SQL of the names of catalogs whose data is being deleted, or is deleted. */
export const PURGED_CATALOGS = `SELECT name FROM catalog WHERE deleted ->> '$.purgedAt' IS NOT NULL`;

export type CatalogDeletions = Pick<
  SnapshotStore,
  'deletedCatalogs' | 'deletedCatalog' | 'deleteCatalog' | 'restoreCatalog'
>;

/**
 * Deletes catalogs and restores them. A deleted catalog keeps all its rows until it is purged. The queries of catalogs,
 * sources, and search leave it out.
 */
export function catalogDeletions(connection: Connection): CatalogDeletions {
  const { db, read, write } = connection;
  const appendEvent = eventAppender(connection);
  const columns = { name: catalogs.name, deleted: catalogs.deleted };
  const all = prepared(() =>
    db
      .select(columns)
      .from(catalogs)
      .where(isNotNull(catalogs.deleted))
      .orderBy(asc(catalogs.name))
      .prepare(),
  );
  const one = prepared(() =>
    db
      .select(columns)
      .from(catalogs)
      .where(and(eq(catalogs.name, sql.placeholder('name')), isNotNull(catalogs.deleted)))
      .prepare(),
  );
  /** Invalidates builds that were planned before, and has search read all its functions again. */
  const changed = { searchedSerial: 0, throughEvent: 0 };
  return {
    deletedCatalogs: () => read(() => all.all().map(tombstone)),
    deletedCatalog: (name) =>
      read(() => {
        const row = one.get({ name });
        return row && tombstone(row);
      }),
    deleteCatalog: ({ name, deletion, event }) =>
      write(() => {
        const appended = appendEvent(event);
        const { changes } = db
          .update(catalogs)
          .set({ ...changed, appliedEvent: appended.sequence, deleted: deletion })
          .where(and(eq(catalogs.name, name), isNull(catalogs.deleted)))
          .run();
        if (changes === 0) throw new RevisionConflict(`catalog ${name} does not exist`);
        return appended;
      }),
    restoreCatalog: ({ name, at, event }) =>
      write(() => {
        const appended = appendEvent(event);
        const { changes } = db
          .update(catalogs)
          .set({ ...changed, appliedEvent: appended.sequence, deleted: null })
          .where(
            and(
              eq(catalogs.name, name),
              isNotNull(catalogs.deleted),
              sql.raw(`name NOT IN (${PURGED_CATALOGS})`),
            ),
          )
          .run();
        if (changes === 0) throw new RevisionConflict(`catalog ${name} is not deleted, or is purged`);
        db.update(catalogSources).set({ nextAt: at }).where(eq(catalogSources.catalog, name)).run();
        return appended;
      }),
  };
}

function tombstone({ name, deleted }: { name: string; deleted: CatalogDeletion | null }): CatalogTombstone {
  return { name, ...deleted! };
}
