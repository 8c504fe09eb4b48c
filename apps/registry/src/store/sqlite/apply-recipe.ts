import { type CatalogStore, RevisionConflict } from '@krmhub/catalog';
import { eq } from 'drizzle-orm';
import { catalogs } from '../schema/sqlite.js';
import type { Connection } from './connection.js';
import { eventAppender } from './events.js';

export function applyRecipe(connection: Connection): CatalogStore['applyRecipe'] {
  const { db, write } = connection;
  const appendEvent = eventAppender(connection);
  return ({ name, recipe, expectedRecipe, at, by, event }) =>
    write(() => {
      const current = db
        .select({ recipe: catalogs.recipe })
        .from(catalogs)
        .where(eq(catalogs.name, name))
        .get();
      if (current?.recipe !== expectedRecipe) {
        throw new RevisionConflict(`The recipe of catalog ${name} is not the one that was to be replaced`);
      }
      const appended = appendEvent(event);
      const columns = {
        recipe,
        appliedAt: at,
        appliedBy: by,
        appliedEvent: appended.sequence,
        throughEvent: 0,
      };
      db.insert(catalogs)
        .values({ name, ...columns })
        .onConflictDoUpdate({ target: catalogs.name, set: columns })
        .run();
      return appended;
    });
}
