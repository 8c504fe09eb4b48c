import { RevisionConflict, type SnapshotStore } from '@krmhub/catalog';
import { and, eq, sql } from 'drizzle-orm';
import type { WriteSql } from '../../sql/sql.js';
import { change, query, type Work } from '../../sql/statement.js';
import { appendEvent } from '../events/append-event.js';
import { refuseOutdated } from '../events/decided-through.js';
import { catalogs } from '../schema/schema.js';
import { catalogSources } from '../schema/sources.js';
import { removeEntries } from '../sources/source-rows.js';

const catalog = sql.placeholder('catalog');
const currentRecipe = query((db) =>
  db
    .select({ recipe: catalogs.recipe, deleted: catalogs.deleted })
    .from(catalogs)
    .where(eq(catalogs.name, catalog)),
);
const selectSources = query((db) =>
  db
    .select({ source: catalogSources.source, url: catalogSources.url, copy: catalogSources.copy })
    .from(catalogSources)
    .where(eq(catalogSources.catalog, catalog)),
);
const ofSource = and(
  eq(catalogSources.catalog, catalog),
  eq(catalogSources.source, sql.placeholder('source')),
);
const removeSource = change((db) => db.delete(catalogSources).where(ofSource));

export function applyRecipe({ write }: WriteSql): SnapshotStore['applyRecipe'] {
  return ({ name, recipe, expectedRecipe, sources = [], decided, at, by, event, origin }) =>
    write(function* () {
      yield* refuseOutdated(decided);
      const current = yield* currentRecipe.first({ catalog: name });
      if (current?.recipe !== expectedRecipe || (current !== undefined && current.deleted !== null)) {
        throw new RevisionConflict(`the recipe of catalog ${name} has changed`);
      }
      const appended = yield* appendEvent(event, origin);
      const columns = {
        recipe,
        appliedAt: at,
        appliedBy: by,
        appliedEvent: appended.sequence,
        throughEvent: 0,
        clock: at,
      };
      yield* change((db) =>
        db
          .insert(catalogs)
          .values({ name, ...columns })
          .onConflictDoUpdate({ target: catalogs.name, set: columns }),
      ).run();
      yield* reconcile(name, sources, at);
      return appended;
    });
}

/** Makes the source rows of a catalog match its recipe. Every source is due for a sync. */
function* reconcile(
  catalog: string,
  wanted: readonly { source: string; url: string }[],
  at: string,
): Work<void> {
  const rows = yield* selectSources.all({ catalog });
  for (const { source } of rows) {
    if (wanted.some((one) => one.source === source)) continue;
    yield* removeEntries({ catalog, source }, at);
    yield* removeSource.run({ catalog, source });
  }
  for (const { source, url } of wanted) {
    const row = rows.find((one) => one.source === source);
    if (row === undefined) {
      yield* change((db) => db.insert(catalogSources).values({ catalog, source, url, nextAt: at })).run();
      continue;
    }
    const due = { nextAt: at, checkedAt: null };
    const moved = row.url === url ? {} : movedTo(url, row);
    yield* change((db) =>
      db
        .update(catalogSources)
        .set({ ...due, ...moved })
        .where(ofSource),
    ).run({ catalog, source });
  }
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
