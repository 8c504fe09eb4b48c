/**
 * Takes releases down in the database: tombstones, and everything that is withdrawn with a release.
 *
 * One transaction changes all rows (commit-takedown.ts). `finishTakedowns` then erases from the disk what no row names
 * any more.
 *
 * @module
 */

import { mergeSigners, type TakedownStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { and, asc, eq, like, lte, sql } from 'drizzle-orm';
import type { SearchIndex } from '../../search/search-index.js';
import type { Sql } from '../../sql/sql.js';
import { change, query, text } from '../../sql/statement.js';
import { appendAudit } from '../audit/append-audit.js';
import { takedowns } from '../schema/schema.js';
import { commitTakedown } from './commit-takedown.js';
import { allowDigests, functionTakedowns, takedown, withRuntimeDigests } from './takedown-rows.js';

/** What a takedown changes in other parts of the database. */
export interface TakedownReach {
  search: SearchIndex;
  /** Deletes what no row names any more, so that nothing of it is left on the disk. */
  erase(): Promise<void>;
}

const all = query((db) => db.select().from(takedowns).orderBy(asc(takedowns.id)));
const ofScript = query((db) =>
  db
    .select()
    .from(takedowns)
    .where(like(takedowns.scripts, sql.placeholder('pattern')))
    .orderBy(asc(takedowns.id))
    .limit(1),
);
const unfinished = query((db) =>
  db.select().from(takedowns).where(eq(takedowns.finished, false)).orderBy(asc(takedowns.id)),
);
const named = and(
  eq(takedowns.group, sql.placeholder('group')),
  eq(takedowns.kindFolded, sql.placeholder('kindFolded')),
  eq(takedowns.release, sql.placeholder('release')),
);
const selectTombstone = query((db) => db.select({ signers: takedowns.signers }).from(takedowns).where(named));
const naming = text<{ digest: Digest }>(
  `SELECT digest FROM release WHERE digest = :digest OR readme = :digest LIMIT 1`,
);
const finish = change((db) =>
  db
    .update(takedowns)
    .set({ finished: true })
    .where(lte(takedowns.id, sql.placeholder('last'))),
);

export function takedownRows({ read, readOne, write }: Sql, reach: TakedownReach): TakedownStore {
  return {
    takedowns: (group, kind) => readOne(() => functionTakedowns(group, kind)),
    allTakedowns: () =>
      read(function* () {
        return yield* withRuntimeDigests(yield* all.all());
      }),
    takedownOfScript: (digest) =>
      readOne(function* () {
        const row = yield* ofScript.first({ pattern: `%${digest}%` });
        return row && takedown(row);
      }),
    commitTakedown: commitTakedown({ write }, reach.search),
    completeTakedown: ({ group, kind, release, signers: added = [] }) =>
      write(function* () {
        const name = { group, kindFolded: kind.toLowerCase(), release };
        const stored = yield* selectTombstone.first(name);
        if (stored === undefined || added.length === 0) return;
        const signers = mergeSigners(stored.signers ?? [], added);
        yield* change((db) => db.update(takedowns).set({ signers }).where(named)).run(name);
      }),
    allowRuntimes: (released, act) =>
      write(function* () {
        for (const { group, kind, release } of released) {
          yield* allowDigests({ group, kindFolded: kind.toLowerCase(), release });
          const object = `release/${group}/${kind}@${release}`;
          yield* appendAudit({ ...act, action: 'release.allow-runtimes', object, outcome: 'done' });
        }
      }),
    unfinishedTakedowns: () =>
      read(function* () {
        const rows = yield* unfinished.all();
        if (rows.length === 0) return undefined;
        const digests = rows.flatMap(({ digest, readme }) => (readme === null ? [digest] : [digest, readme]));
        const blobs: Digest[] = [];
        for (const digest of new Set(digests)) {
          if ((yield* naming.first({ digest })) === undefined) blobs.push(digest);
        }
        return { takedowns: yield* withRuntimeDigests(rows), blobs };
      }),
    async finishTakedowns() {
      const last = await read(function* () {
        return (yield* unfinished.all()).at(-1);
      });
      if (last === undefined) return;
      await reach.erase();
      await write(() => finish.run({ last: last.id }));
    },
  };
}
