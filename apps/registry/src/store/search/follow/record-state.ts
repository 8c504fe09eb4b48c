import type { FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { text, type Work } from '../../sql/statement.js';

/** What has changed in the registry: reads of its database, whichever it is. */

export interface RecordState {
  /** Sequence of the last event. */
  event: number;
  /** What that event is, as text; empty for the state before the first event. */
  mark: string;
  /** What the event of `since` is now: another state of the registry has another one, or `none`. */
  knownMark: string;
  /** Newest serials of catalogs that are not deleted. */
  serials: ReadonlyMap<string, number>;
  /** Whether a purge waits for search. */
  isUnmarked: boolean;
  /** Whether all releases have their words. */
  hasWords: boolean;
  /** Number of the last takedown; 0 for none. */
  takedowns: number;
  /** The first events since then that change what search has of a function or a catalog, oldest first. */
  events: RecordEvent[];
  /** Functions with a changed entry by catalog, at most `limit` of each; catalogs without a change are absent. */
  changed: ReadonlyMap<string, FunctionName[]>;
}

export interface RecordEvent {
  sequence: number;
  mark: string;
  /** Absent for a restored catalog. */
  function?: FunctionName;
  catalog?: string;
}

/** What the index includes. */
export interface Since {
  event: number;
  /** By catalog; changes of catalogs without a serial are counted from the first one. */
  serials: Readonly<Record<string, number>>;
}

/** Most events, and most changed functions of each catalog. */
export interface StateLimits {
  events: number;
  changed: number;
}

/** A row of the statement: an event, or something else in columns that fit. */
interface StateRow {
  what: 'mark' | 'event' | 'catalog' | 'deleted' | 'changed' | 'takedowns' | 'words';
  sequence: number | null;
  type: string | null;
  at: string | null;
  group_name: string | null;
  kind: string | null;
  release: string | null;
  digest: string | null;
  catalog: string | null;
  serial: number | null;
}

const NEWEST = '(SELECT max(serial) FROM snapshot WHERE snapshot.catalog = catalog.name)';
const BEHIND = `searched_serial < ${NEWEST}`;
const EVENT = 'sequence, type, at, group_name, kind, release, digest, catalog, serial';

/** One statement: each process runs it for each event and each search, and the server must know one state for all. */
const stateRows = (known: string, changed: string) => `
  SELECT 'mark' AS what, ${EVENT} FROM event WHERE sequence IN (:event, (SELECT max(sequence) FROM event))
  UNION ALL SELECT * FROM (
    SELECT 'event' AS what, ${EVENT} FROM event
    WHERE sequence > :event AND (type LIKE 'release.%' OR type = 'catalog.restored')
    ORDER BY sequence LIMIT :events) AS events
  UNION ALL SELECT CASE WHEN deleted IS NULL THEN 'catalog' ELSE 'deleted' END, searched_serial,
    NULL, NULL, NULL, NULL, NULL, NULL, name, ${NEWEST} FROM catalog
  UNION ALL SELECT 'takedowns', max(id), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM takedown
  UNION ALL SELECT 'words', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM setting WHERE name = 'release-words'
  UNION ALL SELECT 'changed', NULL, NULL, NULL, group_name, kind, NULL, NULL, name, NULL FROM (
    SELECT name, place.group_name, place.kind
    FROM (SELECT name, ${NEWEST} AS newest, coalesce(CAST(known.value AS BIGINT), 0) AS searched
      FROM catalog LEFT JOIN ${known} AS known ON known.key = catalog.name WHERE deleted IS NULL) AS behind
    ${changed}) AS changed`;
const CHANGED = `catalog = behind.name AND from_serial > behind.searched AND from_serial <= behind.newest`;

const state = text<StateRow>({
  // Of each catalog: without a lateral join, a place is one of the first if few of its catalog come before it.
  sqlite: stateRows(
    'json_each(:serials)',
    `JOIN catalog_function AS place ON place.rowid IN (
       SELECT rowid FROM catalog_function WHERE ${CHANGED} LIMIT :changed)
     WHERE behind.newest > behind.searched`,
  ),
  postgres: stateRows(
    'json_each_text(:serials::json)',
    `CROSS JOIN LATERAL (SELECT group_name, kind FROM catalog_function WHERE ${CHANGED} LIMIT :changed) AS place
     WHERE behind.newest > behind.searched`,
  ),
});
const AFTER = '(group_name, kind) > (:group, :kind)';
const namesAfter = text<FunctionName>(
  `SELECT group_name AS "group", kind FROM (
     SELECT * FROM (
       SELECT group_name, kind_folded AS kind FROM function WHERE (group_name, kind_folded) > (:group, :kind)
       ORDER BY group_name, kind_folded LIMIT :limit) AS own
     UNION SELECT * FROM (
       SELECT DISTINCT group_name, lower(kind) AS kind FROM catalog_function
       WHERE (group_name, lower(kind)) > (:group, :kind)
       ORDER BY group_name, lower(kind) LIMIT :limit) AS placed) AS named
   ORDER BY group_name, kind LIMIT :limit`,
);
const changedAfter = text<FunctionName>(
  `SELECT group_name AS "group", kind FROM catalog_function
   WHERE catalog = :catalog AND from_serial > :searched AND from_serial <= :newest AND ${AFTER}
   GROUP BY group_name, kind ORDER BY group_name, kind LIMIT :limit`,
);
const lastTakedown = text<{ id: number | null }>('SELECT max(id) AS id FROM takedown');
const mark = text(
  `UPDATE catalog SET searched_serial = (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = catalog.name)
   WHERE ${BEHIND}`,
);

export function* recordState(since: Since, limits: StateLimits): Work<RecordState> {
  const rows = yield* state.all({ event: since.event, serials: JSON.stringify(since.serials), ...limits });
  const marks = new Map([[0, '']]);
  const serials = new Map<string, number>();
  const changed = new Map<string, FunctionName[]>();
  const events: RecordEvent[] = [];
  const read = { isUnmarked: false, hasWords: false, takedowns: 0 };
  for (const { what, sequence, ...row } of rows) {
    const number = Number(sequence);
    const { catalog, serial, group_name: group, kind } = row;
    if (what === 'mark') marks.set(number, markOf(row));
    if (what === 'takedowns') read.takedowns = number;
    if (what === 'words') read.hasWords = true;
    if (what === 'event') {
      const named = group === null || kind === null ? undefined : { group, kind };
      events.push({
        sequence: number,
        mark: markOf(row),
        ...defined({ function: named, catalog: catalog ?? undefined }),
      });
    }
    if (what === 'changed') {
      const ofCatalog = changed.get(catalog!) ?? [];
      changed.set(catalog!, ofCatalog);
      ofCatalog.push({ group: group!, kind: kind! });
    }
    if ((what === 'catalog' || what === 'deleted') && serial !== null) {
      if (number < Number(serial)) read.isUnmarked = true;
      if (what === 'catalog') serials.set(catalog!, Number(serial));
    }
  }
  const event = Math.max(...marks.keys());
  const knownMark = marks.get(since.event) ?? 'none';
  return { event, mark: marks.get(event)!, knownMark, serials, events, changed, ...read };
}

/** An event as text: another registry, or an earlier state of it, has another event with the number. */
function markOf({
  type,
  at,
  group_name,
  kind,
  release,
  digest,
  catalog,
  serial,
}: Omit<StateRow, 'what' | 'sequence'>) {
  return JSON.stringify([type, at, group_name, kind, release, digest, catalog, serial]);
}

/** Returns functions of the registry and of catalogs after a name, in order, with kinds in lower case. */
export function namePage(after: FunctionName, limit: number): Work<FunctionName[]> {
  return namesAfter.all({ ...after, limit });
}

export interface Serials {
  catalog: string;
  searched: number;
  newest: number;
}

/** Returns functions with a changed entry after one serial, up to another, after a name, in order. */
export function changedPage(serials: Serials, after: FunctionName, limit: number): Work<FunctionName[]> {
  return changedAfter.all({ ...serials, ...after, limit });
}

/** Returns the number of the last takedown; 0 for none. */
export function* lastTakedownNumber(): Work<number> {
  return Number((yield* lastTakedown.first())?.id ?? 0);
}

/** Lets purges delete rows of deleted catalogs: an index outside of the database does not need them. */
export function* markSearched(): Work<void> {
  yield* mark.run();
}
