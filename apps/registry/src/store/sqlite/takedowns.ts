import type { CatalogStore } from '@krmhub/catalog';
import { type Digest, KrmhubError } from '@krmhub/schema';
import { asc, eq, lte } from 'drizzle-orm';
import { takedowns } from '../schema/sqlite.js';
import { commitTakedown } from './commit-takedown.js';
import type { Connection } from './connection.js';
import { Database } from './driver.js';
import { attempt } from './errors.js';
import { functionTakedowns, takedown } from './takedown-rows.js';

export type TakedownRows = Pick<
  CatalogStore,
  'takedowns' | 'allTakedowns' | 'commitTakedown' | 'unfinishedTakedowns' | 'finishTakedowns'
>;

export function takedownRows(connection: Connection): TakedownRows {
  const { client, db, read, write } = connection;
  const ofFunction = functionTakedowns(connection);
  const all = db.select().from(takedowns).orderBy(asc(takedowns.id)).prepare();
  const unfinished = db
    .select()
    .from(takedowns)
    .where(eq(takedowns.finished, false))
    .orderBy(asc(takedowns.id))
    .prepare();
  const isNamed = client
    .prepare<{ digest: Digest }, 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM release WHERE digest = :digest)
         OR EXISTS (SELECT 1 FROM release WHERE readme = :digest)`,
    )
    .pluck();
  return {
    takedowns: (group, kind) => read(() => ofFunction(group, kind)),
    allTakedowns: () => read(() => all.all().map(takedown)),
    commitTakedown: commitTakedown(connection),
    unfinishedTakedowns: () =>
      read(() => {
        const rows = unfinished.all();
        if (rows.length === 0) return undefined;
        const digests = rows.flatMap(({ digest, readme }) => (readme === null ? [digest] : [digest, readme]));
        return {
          takedowns: rows.map(takedown),
          blobs: [...new Set(digests)].filter((digest) => isNamed.get({ digest }) === 0),
        };
      }),
    async finishTakedowns() {
      const last = await read(() => unfinished.all().at(-1));
      if (last === undefined) return;
      await attempt(() => erase(connection));
      await write(() => {
        db.update(takedowns).set({ finished: true }).where(lte(takedowns.id, last.id)).run();
      });
    },
  };
}

/**
 * Rewrites the database file, so that nothing deleted is left in it or beside it. SQLite's secure_delete would not do:
 * it leaves copies where rows were moved between pages. A connection of its own lets the temporary copy be a file.
 */
function erase({ client }: Connection): void {
  const eraser = client.memory ? client : new Database(client.name, { timeout: 2_000 });
  try {
    // Words of deleted documents stay in the full-text index until its segments are merged.
    eraser.exec(`INSERT INTO function_text (function_text) VALUES ('optimize')`);
    eraser.exec('VACUUM');
    if (client.memory) return;
    const [checkpoint] = eraser.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
    if (checkpoint.busy !== 0) {
      throw new KrmhubError(
        'unavailable',
        'Another program reads the database, so its log cannot be emptied.',
        {
          hint: 'Close that program; what was taken down is erased at the next takedown or start.',
        },
      );
    }
  } finally {
    if (eraser !== client) eraser.close();
  }
}
