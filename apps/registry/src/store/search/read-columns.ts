import type { SqliteClient } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import {
  type Alternatives,
  Columns,
  type FunctionRow,
  foldedName,
  type Name,
  type SearchColumns,
  type ShownEntry,
} from './columns.js';
import { DOCUMENT_FIELDS, FINDABLE, FINDABLE_TABLES } from './document-rows.js';
import { IN_NEWEST_SNAPSHOT, PLACE_ORDER } from './rows.js';
import { NO_POLICIES, type SearchTrust } from './signature-states.js';
import { MAX_REMEMBERED_CHANGES } from './upstream-rows.js';

/** Changed functions that are read one by one; after more changes, everything is read again. */
const MAX_SINGLE_READS = MAX_REMEMBERED_CHANGES;

/** State of the database that the columns reflect. */
interface Seen {
  /** Sequence of an event. */
  event: number;
  /** Sequence of a change of an upstream row. */
  upstream: number;
  /** By catalog. */
  serials: ReadonlyMap<string, number>;
}

const ROW = `SELECT id, group_name AS "group", kind,
  ${DOCUMENT_FIELDS.filter((field) => field !== 'description').join(', ')}`;
/** Rows per read, so that not all are in memory at a time. */
const PAGE = 1_000;

/**
 * Reads the columns. Returns a function that updates them to the state of the database; call it in the transaction of
 * the search. The event log, the serials of catalogs, and the changes of upstream rows show which functions changed
 * since the last call. After a change of the signing policies, everything is read again.
 */
export function searchColumns({ client }: SqliteClient): (trust?: SearchTrust) => SearchColumns {
  const lastEvent = prepared(() =>
    client.prepare<[], number>('SELECT ifnull(max(sequence), 0) FROM event').pluck(),
  );
  const newestSerials = prepared(() =>
    client.prepare<[], { catalog: string; serial: number }>(
      `SELECT name AS catalog, (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name) AS serial
     FROM catalog WHERE serial IS NOT NULL AND deleted IS NULL`,
    ),
  );
  const changedByEvents = prepared(() =>
    client.prepare<[number], Name>(
      `SELECT DISTINCT group_name AS "group", kind FROM event
     WHERE sequence > ? AND type LIKE 'release.%' LIMIT ${MAX_SINGLE_READS + 1}`,
    ),
  );
  const changedRows = prepared(() =>
    client.prepare<[string, number, number], Name>(
      `SELECT group_name AS "group", kind FROM catalog_function
     WHERE catalog = ? AND from_serial > ? AND from_serial <= ? LIMIT ${MAX_SINGLE_READS + 1}`,
    ),
  );
  const upstreamChanges = prepared(() =>
    client.prepare<[], { first: number; last: number }>(
      'SELECT ifnull(min(sequence), 0) AS first, ifnull(max(sequence), 0) AS last FROM upstream_change',
    ),
  );
  const changedUpstream = prepared(() =>
    client.prepare<[number], Name>(
      'SELECT DISTINCT group_name AS "group", kind FROM upstream_change WHERE sequence > ?',
    ),
  );
  const rowsOf = prepared(() =>
    client.prepare<[string, string], FunctionRow>(
      `${ROW} FROM ${FINDABLE} AS shown WHERE group_name = ? AND kind_folded = ?`,
    ),
  );
  // In the order of the file: sorting them in memory is faster than reading them in the order of an index.
  const allRows = FINDABLE_TABLES.map((table) =>
    prepared(() =>
      client.prepare<[number], FunctionRow>(
        `${ROW} FROM (${table}) AS shown WHERE id > ? ORDER BY id LIMIT ${PAGE}`,
      ),
    ),
  );
  const upstreamEntries = prepared(() =>
    client.prepare<[], Name & { id: number; entry: string }>(
      'SELECT id, group_name AS "group", kind, entry FROM upstream_function',
    ),
  );
  const selectShown = prepared(() =>
    client.prepare<[string, string], ShownEntry>(
      `SELECT catalog, shown.id FROM catalog_function AS place
       JOIN upstream_function AS shown ON shown.group_name = place.group_name AND shown.entry = place.entry
       WHERE place.group_name = ? AND lower(place.kind) = ? AND shown.kind_folded = lower(place.kind)
         AND ${IN_NEWEST_SNAPSHOT} ${PLACE_ORDER}`,
    ),
  );
  const selectCatalogs = prepared(() =>
    client
      .prepare<[string, string], string>(
        `SELECT catalog FROM catalog_function AS place
       WHERE group_name = ? AND lower(kind) = ? AND entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}`,
      )
      .pluck(),
  );
  const entriesIn = prepared(() =>
    client.prepare<[string, number, number], Name & { entry: string }>(
      `SELECT group_name AS "group", kind, entry FROM catalog_function
     WHERE catalog = ? AND entry IS NOT NULL AND from_serial <= ? AND (to_serial IS NULL OR to_serial > ?)
     ORDER BY group_name, kind`,
    ),
  );

  let columns: Columns | undefined;
  let states = 0;
  let trust = NO_POLICIES;
  let seen: Seen = { event: 0, upstream: 0, serials: new Map() };

  const readAll = (serials: ReadonlyMap<string, number>): Columns => {
    const all = new Columns(trust);
    const catalogs = new Map<string, string[]>();
    const alternatives = new Map<string, { ids: number[]; shown: ShownEntry[] }>();
    const ids = new Map<string, number>();
    for (const row of upstreamEntries.all()) {
      const name = foldedName(row);
      ids.set(`${name} ${row.entry}`, row.id);
      const others = alternatives.get(name);
      if (others === undefined) alternatives.set(name, { ids: [row.id], shown: [] });
      else others.ids.push(row.id);
    }
    for (const [catalog, serial] of [...serials].sort(inPlaceOrder)) {
      for (const row of entriesIn.iterate(catalog, serial, serial)) {
        const name = foldedName(row);
        addTo(catalogs, name, catalog);
        const id = ids.get(`${name} ${row.entry}`);
        if (id !== undefined) alternatives.get(name)!.shown.push({ catalog, id });
      }
    }
    for (const rows of allRows) {
      for (let page = rows.all(-1); page.length > 0; page = rows.all(page.at(-1)!.id)) {
        for (const row of page) {
          const name = foldedName(row);
          all.put(row, catalogs.get(name) ?? [], alternatives.get(name));
        }
      }
    }
    return all;
  };

  const changedNames = (now: Seen, forgotten: number): Name[] | undefined => {
    if (now.upstream > seen.upstream && forgotten > seen.upstream) return undefined;
    // A deleted catalog.
    if ([...seen.serials.keys()].some((catalog) => !now.serials.has(catalog))) return undefined;
    const changed = now.event > seen.event ? changedByEvents.all(seen.event) : [];
    for (const [catalog, serial] of now.serials) {
      const before = seen.serials.get(catalog) ?? 0;
      if (serial > before) changed.push(...changedRows.all(catalog, before, serial));
    }
    if (now.upstream > seen.upstream) changed.push(...changedUpstream.all(seen.upstream));
    return changed.length > MAX_SINGLE_READS ? undefined : changed;
  };

  return (wanted = trust) => {
    if (wanted.revision !== trust.revision) columns = undefined;
    trust = wanted;
    const { first, last } = upstreamChanges.get()!;
    const now: Seen = {
      event: lastEvent.get()!,
      upstream: last,
      serials: new Map(newestSerials.all().map(({ catalog, serial }) => [catalog, serial])),
    };
    const changed = columns === undefined ? undefined : changedNames(now, first - 1);
    if (columns === undefined || changed === undefined) {
      columns = readAll(now.serials);
    } else {
      const found = changed.map((name) => ({ name, rows: rowsOf.all(name.group, name.kind.toLowerCase()) }));
      // A function that returned after a takedown may have the id of another one, so old rows go first.
      for (const { name, rows } of found) {
        columns.forget(
          name,
          rows.filter(({ kind }) => kind === name.kind).map(({ id }) => id),
        );
      }
      for (const { name, rows } of found) {
        if (rows.length === 0) continue;
        const kind = name.kind.toLowerCase();
        const catalogs = selectCatalogs.all(name.group, kind);
        const alternatives: Alternatives = {
          ids: rows.map(({ id }) => id),
          shown: rows[0]!.release === null ? selectShown.all(name.group, kind) : [],
        };
        for (const row of rows) columns.put(row, catalogs, alternatives);
      }
    }
    if (changed === undefined || !isSame(seen, now)) states += 1;
    columns.state = states;
    seen = now;
    columns.settle();
    return columns;
  };
}

/** As `PLACE_ORDER`. */
function inPlaceOrder([a]: readonly [string, number], [b]: readonly [string, number]): number {
  if ((a === 'default') !== (b === 'default')) return a === 'default' ? 1 : -1;
  return a < b ? -1 : 1;
}

function addTo<Item>(lists: Map<string, Item[]>, name: string, item: Item): void {
  const others = lists.get(name);
  if (others === undefined) lists.set(name, [item]);
  else others.push(item);
}

function isSame(one: Seen, other: Seen): boolean {
  return (
    one.event === other.event &&
    one.upstream === other.upstream &&
    one.serials.size === other.serials.size &&
    [...one.serials].every(([catalog, serial]) => other.serials.get(catalog) === serial)
  );
}
