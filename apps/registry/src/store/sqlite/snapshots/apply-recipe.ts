import { RevisionConflict, type SnapshotStore } from '@krmhub/catalog';
import { and, eq } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { entryRemover, eventAppender } from '../run-now.js';
import { catalogs } from '../schema/schema.js';
import { catalogSources } from '../schema/sources.js';

export function applyRecipe(connection: Connection): SnapshotStore['applyRecipe'] {
  const { db, write } = connection;
  const appendEvent = eventAppender(connection);
  const reconcile = sourceReconciler(connection);
  return ({ name, recipe, expectedRecipe, sources = [], at, by, event }) =>
    write(() => {
      const current = db
        .select({ recipe: catalogs.recipe, deleted: catalogs.deleted })
        .from(catalogs)
        .where(eq(catalogs.name, name))
        .get();
      if (current?.recipe !== expectedRecipe || (current !== undefined && current.deleted !== null)) {
        throw new RevisionConflict(`the recipe of catalog ${name} has changed`);
      }
      const appended = appendEvent(event);
      const columns = {
        recipe,
        appliedAt: at,
        appliedBy: by,
        appliedEvent: appended.sequence,
        throughEvent: 0,
        clock: at,
      };
      db.insert(catalogs)
        .values({ name, ...columns })
        .onConflictDoUpdate({ target: catalogs.name, set: columns })
        .run();
      reconcile(name, sources, at);
      return appended;
    });
}

/** Makes the source rows of a catalog match its recipe. Every source is due for a sync. */
function sourceReconciler(connection: Connection) {
  const { db } = connection;
  const forget = entryRemover(connection);
  return (catalog: string, wanted: readonly { source: string; url: string }[], at: string): void => {
    const rowOf = (source: string) =>
      and(eq(catalogSources.catalog, catalog), eq(catalogSources.source, source));
    const rows = db
      .select({ source: catalogSources.source, url: catalogSources.url, copy: catalogSources.copy })
      .from(catalogSources)
      .where(eq(catalogSources.catalog, catalog))
      .all();
    for (const { source } of rows) {
      if (wanted.some((one) => one.source === source)) continue;
      forget.all({ catalog, source }, at);
      db.delete(catalogSources).where(rowOf(source)).run();
    }
    for (const { source, url } of wanted) {
      const row = rows.find((one) => one.source === source);
      if (row === undefined) {
        db.insert(catalogSources).values({ catalog, source, url, nextAt: at }).run();
        continue;
      }
      const due = { nextAt: at, checkedAt: null };
      const moved = row.url === url ? {} : movedTo(url, row);
      db.update(catalogSources)
        .set({ ...due, ...moved })
        .where(rowOf(source))
        .run();
    }
  };
}

/** Keeps the last good copy of the old address until the new one works: a typing error must not empty a catalog. */
function movedTo(
  url: string,
  { url: before, copy }: Pick<typeof catalogSources.$inferSelect, 'url' | 'copy'>,
): Partial<typeof catalogSources.$inferInsert> {
  if (!copy) return { url, failure: null, highest: null };
  const { formerUrl = before, ...rest } = copy;
  return { url, failure: null, highest: null, copy: formerUrl === url ? rest : { ...rest, formerUrl } };
}
