import { type FunctionStore, mergeSigners } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { and, asc, eq, lte } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { takedowns } from '../schema/schema.js';
import { commitTakedown } from './commit-takedown.js';
import { erase } from './erase.js';
import { functionTakedowns, takedown } from './takedown-rows.js';

export type TakedownRows = Pick<
  FunctionStore,
  | 'takedowns'
  | 'allTakedowns'
  | 'commitTakedown'
  | 'addTakedownSigners'
  | 'unfinishedTakedowns'
  | 'finishTakedowns'
>;

export function takedownRows(connection: Connection): TakedownRows {
  const { client, db, read, write } = connection;
  const ofFunction = functionTakedowns(connection);
  const all = prepared(() => db.select().from(takedowns).orderBy(asc(takedowns.id)).prepare());
  const unfinished = prepared(() =>
    db.select().from(takedowns).where(eq(takedowns.finished, false)).orderBy(asc(takedowns.id)).prepare(),
  );
  const isNamed = prepared(() =>
    client
      .prepare<{ digest: Digest }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM release WHERE digest = :digest)
         OR EXISTS (SELECT 1 FROM release WHERE readme = :digest)`,
      )
      .pluck(),
  );
  return {
    takedowns: (group, kind) => read(() => ofFunction(group, kind)),
    allTakedowns: () => read(() => all.all().map(takedown)),
    commitTakedown: commitTakedown(connection),
    addTakedownSigners: ({ group, kind, release, signers: added = [] }) =>
      write(() => {
        const named = and(
          eq(takedowns.group, group),
          eq(takedowns.kindFolded, kind.toLowerCase()),
          eq(takedowns.release, release),
        );
        const stored = db.select({ signers: takedowns.signers }).from(takedowns).where(named).get();
        if (stored === undefined || added.length === 0) return;
        db.update(takedowns)
          .set({ signers: mergeSigners(stored.signers ?? [], added) })
          .where(named)
          .run();
      }),
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
      await erase(connection);
      await write(() => {
        db.update(takedowns).set({ finished: true }).where(lte(takedowns.id, last.id)).run();
      });
    },
  };
}
