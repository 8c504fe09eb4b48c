/**
 * Upstream functions in search. They have a table of their own (`upstream_function`), so that nothing that counts,
 * builds, or serves functions of this registry sees them. Ids are shared, because the full-text index covers both
 * tables.
 *
 * A row is made from the entry in a newest snapshot. A few changes are written with the build, many after it in short
 * transactions. A catalog records the serial that search includes, so an interrupted synchronization continues. A
 * publish takes over the name, whatever the case of its kind. After the last takedown, a catalog whose `match` names
 * the group can have it again: of many entries, the takedown writes some, and counts a catalog with the name as not
 * searched since then.
 */

import { setTimeout } from 'node:timers/promises';
import type { SearchStore, SnapshotRecord } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import { searchedBefore } from '../records/snapshots/searched-serial.js';
import { FIRST_UPSTREAM_PLACE, IS_UPSTREAM } from '../records/snapshots/served-entries.js';
import { text, type Work } from '../sql/statement.js';
import type { SyncSql } from '../sqlite/sqlite-sql.js';
import { refresh } from './upstream-rows.js';

/**
 * Changed functions of a snapshot, and entries of them, that its commit writes to search; more would delay other writes.
 */
const MAX_WITH_COMMIT = 50;
/** Entries of a function that are written before others can write: each has up to a megabyte. */
const ENTRIES_AT_ONCE = 5;
/** Milliseconds after which a transaction ends, so that others can write. */
const BATCH_MS = 40;
/** Milliseconds between two transactions: a waiting write retries every 10. */
const PAUSE_MS = 20;

interface Behind {
  catalog: string;
  searched: number;
  newest: number;
}

const CHANGED = `SELECT DISTINCT group_name AS "group", kind FROM catalog_function
  WHERE catalog = :catalog AND from_serial > :searched AND from_serial <= :newest`;

/** Changes nothing if a takedown, or a deleted catalog, has search read again what it had read. */
const mark = text(
  'UPDATE catalog SET searched_serial = :newest WHERE name = :catalog AND searched_serial = :searched',
);
const selectSearched = text<{ searched: number }>(
  'SELECT searched_serial AS searched FROM catalog WHERE name = :catalog',
);
const changed = text<FunctionName>(CHANGED);
const someChanged = text<FunctionName>(`${CHANGED} LIMIT ${MAX_WITH_COMMIT + 1}`);
const concerned = text<{ found: 0 | 1 }>(
  `SELECT EXISTS (SELECT 1 FROM upstream_function) OR EXISTS (
     SELECT 1 FROM catalog_function AS place
     WHERE catalog = :catalog AND from_serial = :serial AND ${IS_UPSTREAM.sqlite}) AS found`,
);
const searchAgain = text(
  `UPDATE catalog SET searched_serial = ${searchedBefore('shown.from_serial')}
   FROM (${FIRST_UPSTREAM_PLACE.sqlite}) AS shown WHERE catalog.name = shown.catalog`,
);
// The next one after the last, then from the start: a catalog that changes all the time must not delay the others.
const behind = text<Behind>(
  `SELECT * FROM (SELECT name AS catalog, searched_serial AS searched,
     (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name) AS newest FROM catalog)
   WHERE searched < newest ORDER BY catalog <= :last, catalog LIMIT 1`,
);

/** Updates search in the transaction that commits a snapshot, if there are few changes. */
export function* snapshotCommitted({ catalog, serial }: SnapshotRecord): Work<void> {
  // Earlier snapshots must be synchronized first.
  if ((yield* selectSearched.first({ catalog }))?.searched !== serial - 1) return;
  const names = yield* someChanged.all({ catalog, searched: serial - 1, newest: serial });
  if (names.length > MAX_WITH_COMMIT) {
    if ((yield* concerned.first({ catalog, serial }))!.found === 1) return;
  } else {
    let left = MAX_WITH_COMMIT + 1;
    for (const { group, kind } of names) {
      left -= yield* refresh(group, kind, left);
      // Other catalogs can have many entries that search does not include yet.
      if (left === 0) return;
    }
  }
  yield* mark.run({ catalog, searched: serial - 1, newest: serial });
}

/** Updates search in the transaction that takes a release of a function down: the last one frees the name. */
export function* takenDown(group: string, kind: string): Work<void> {
  if ((yield* refresh(group, kind, ENTRIES_AT_ONCE)) < ENTRIES_AT_ONCE) return;
  yield* searchAgain.run({ group, kindFolded: kind.toLowerCase() });
}

export function synchronizeSearch({ read, write }: SyncSql): SearchStore['synchronizeSearch'] {
  return async (signal) => {
    for (let last = ''; ; ) {
      const one = await read(() => behind.first({ last }));
      if (one === undefined) return true;
      last = one.catalog;
      const names = await read(() => changed.all({ ...one }));
      let done = 0;
      for (;;) {
        if (signal?.aborted === true) return false;
        const from = done;
        done = await write(function* () {
          const until = performance.now() + BATCH_MS;
          let next = from;
          // Each refresh is valid on its own, so after an interruption most of the work is done.
          for (let name = names[next]; name !== undefined; name = names[next]) {
            if ((yield* refresh(name.group, name.kind, ENTRIES_AT_ONCE)) < ENTRIES_AT_ONCE) next += 1;
            if (performance.now() >= until) break;
          }
          if (next === names.length) yield* mark.run({ ...one });
          return next;
        });
        if (done === names.length) break;
        await setTimeout(PAUSE_MS);
      }
    }
  };
}
