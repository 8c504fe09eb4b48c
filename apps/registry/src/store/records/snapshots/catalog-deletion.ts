import {
  type CatalogDeletion,
  type CatalogDeletions,
  type CatalogTombstone,
  type DeletedCatalogReader,
  RevisionConflict,
} from '@krmhub/catalog';
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { change, query } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { refuseOutdated } from '../events/decided-through.js';
import { catalogs } from '../schema/schema.js';
import { catalogSources } from '../schema/sources.js';
import { searchedBefore } from './searched-serial.js';

/** SQL of the names of catalogs whose data is being deleted, or is deleted. */
export const PURGED_CATALOGS = `SELECT name FROM catalog WHERE deleted ->> 'purgedAt' IS NOT NULL`;

const columns = { name: catalogs.name, deleted: catalogs.deleted };
const all = query((db) =>
  db.select(columns).from(catalogs).where(isNotNull(catalogs.deleted)).orderBy(asc(catalogs.name)),
);
const one = query((db) =>
  db
    .select({ ...columns, recipe: catalogs.recipe })
    .from(catalogs)
    .where(and(eq(catalogs.name, sql.placeholder('name')), isNotNull(catalogs.deleted))),
);
/** Invalidates builds that were planned before, and has search read all its functions again. */
const replanned = { searchedSerial: sql.raw(searchedBefore('1')), throughEvent: 0 };

/**
 * Deletes catalogs and restores them. A deleted catalog keeps all its rows until it is purged. The queries of catalogs,
 * sources, and search leave it out.
 */
export function catalogDeletions({ read, write }: Sql): CatalogDeletions & DeletedCatalogReader {
  return {
    deletedCatalogs: () =>
      read(function* () {
        return (yield* all.all()).map(tombstone);
      }),
    deletedCatalog: (name) =>
      read(function* () {
        const row = yield* one.first({ name });
        return row && { ...tombstone(row), recipe: row.recipe };
      }),
    deleteCatalog: ({ name, deletion, event, origin }) =>
      write(function* () {
        const appended = yield* appendEvent(event, origin);
        const changed = yield* change((db) =>
          db
            .update(catalogs)
            .set({ ...replanned, appliedEvent: appended.sequence, deleted: deletion })
            .where(and(eq(catalogs.name, name), isNull(catalogs.deleted))),
        ).run();
        if (changed === 0) throw new RevisionConflict(`catalog ${name} does not exist`);
        return appended;
      }),
    restoreCatalog: ({ name, decided, at, event, origin }) =>
      write(function* () {
        yield* refuseOutdated(decided);
        const deleted = yield* one.first({ name });
        if (deleted === undefined || tombstone(deleted).purgedAt !== undefined)
          throw new RevisionConflict(`catalog ${name} is not deleted, or is purged`);
        const appended = yield* appendEvent(event, origin);
        yield* change((db) =>
          db
            .update(catalogs)
            .set({ ...replanned, appliedEvent: appended.sequence, deleted: null })
            .where(eq(catalogs.name, name)),
        ).run();
        yield* change((db) =>
          db.update(catalogSources).set({ nextAt: at }).where(eq(catalogSources.catalog, name)),
        ).run();
        return appended;
      }),
  };
}

function tombstone({ name, deleted }: { name: string; deleted: CatalogDeletion | null }): CatalogTombstone {
  return { name, ...deleted! };
}
