/**
 * Upstream functions in search. They have a table of their own (`upstream_function`), so that nothing that counts,
 * builds, or serves functions of this registry sees them. Ids are shared, because the full-text index covers both
 * tables.
 *
 * A row is made from the entry in a newest snapshot. A few changes are written with the build, many after it in short
 * transactions. A catalog records the serial that search includes, so an interrupted synchronization continues. A
 * publish takes over the name, whatever the case of its kind. After the last takedown, a catalog whose `match` names
 * the group can have it again.
 */

import { setTimeout } from 'node:timers/promises';
import type { SearchStore, SnapshotRecord } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { IS_UPSTREAM } from '../snapshots/served-entries.js';
import { upstreamRows } from './upstream-rows.js';

/** Changed functions of a snapshot that its commit writes to search; more would delay other writes. */
const MAX_WITH_COMMIT = 50;
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

function markSearched({ client }: Connection): (catalog: string, serial: number) => void {
  const mark = prepared(() =>
    client.prepare<[number, string]>('UPDATE catalog SET searched_serial = ? WHERE name = ?'),
  );
  return (catalog, serial) => void mark.run(serial, catalog);
}

/**
 * Updates search in the transaction that commits a snapshot, if there are few changes. Call it after its entry rows
 * are stored. `synchronizeSearch` does the rest.
 */
export function searchNotifier(connection: Connection): (snapshot: SnapshotRecord) => void {
  const { client } = connection;
  const { refresh } = upstreamRows(connection);
  const mark = markSearched(connection);
  const searchedOf = prepared(() =>
    client.prepare<[string], number>('SELECT searched_serial FROM catalog WHERE name = ?').pluck(),
  );
  const changed = prepared(() =>
    client.prepare<Behind, FunctionName>(`${CHANGED} LIMIT ${MAX_WITH_COMMIT + 1}`),
  );
  const concerned = prepared(() =>
    client
      .prepare<{ catalog: string; serial: number }, 0 | 1>(
        `SELECT EXISTS (SELECT 1 FROM upstream_function) OR EXISTS (
         SELECT 1 FROM catalog_function AS place
         WHERE catalog = :catalog AND from_serial = :serial AND ${IS_UPSTREAM})`,
      )
      .pluck(),
  );

  return ({ catalog, serial }) => {
    // Earlier snapshots must be synchronized first.
    if (searchedOf.get(catalog) !== serial - 1) return;
    const names = changed.all({ catalog, searched: serial - 1, newest: serial });
    if (names.length > MAX_WITH_COMMIT && concerned.get({ catalog, serial }) === 1) return;
    if (names.length <= MAX_WITH_COMMIT) for (const { group, kind } of names) refresh(group, kind);
    mark(catalog, serial);
  };
}

export function synchronizeSearch(connection: Connection): SearchStore['synchronizeSearch'] {
  const { client, read, write } = connection;
  const { refresh } = upstreamRows(connection);
  const mark = markSearched(connection);
  const behind = prepared(() =>
    client.prepare<[], Behind>(
      `SELECT * FROM (SELECT name AS catalog, searched_serial AS searched,
       (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name) AS newest FROM catalog)
     WHERE searched < newest ORDER BY catalog`,
    ),
  );
  const changed = prepared(() => client.prepare<Behind, FunctionName>(CHANGED));

  return async (signal) => {
    for (const one of await read(() => behind.all())) {
      const names = await read(() => changed.all(one));
      let done = 0;
      for (;;) {
        if (signal?.aborted === true) return false;
        const from = done;
        done = await write(() => {
          const until = performance.now() + BATCH_MS;
          let next = from;
          // Each refresh is valid on its own, so after an interruption most of the work is done.
          while (next < names.length && (next === from || performance.now() < until)) {
            const { group, kind } = names[next++]!;
            refresh(group, kind);
          }
          if (next === names.length) mark(one.catalog, one.newest);
          return next;
        });
        if (done === names.length) break;
        await setTimeout(PAUSE_MS);
      }
    }
    return true;
  };
}
