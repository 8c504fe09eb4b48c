import type { FunctionName } from '@krmhub/schema';
import { text, type Work } from '../../sql/statement.js';

/** What has changed in the registry: reads of its database, whichever it is. */

export interface RecordState {
  /** Sequence of the last event. */
  event: number;
  /** Newest serials of catalogs that are not deleted. */
  serials: ReadonlyMap<string, number>;
  /** Whether a purge waits for search. */
  isUnmarked: boolean;
  /** Whether all releases have their words. */
  hasWords: boolean;
  /** Number of the last takedown; 0 for none. */
  takedowns: number;
}

const BEHIND = 'searched_serial < (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = catalog.name)';
const state = text<{
  event: number | null;
  name: string | null;
  serial: number | null;
  isUnmarked: number;
  hasWords: number;
  takedowns: number | null;
}>(
  `SELECT (SELECT max(sequence) FROM event) AS event, EXISTS (SELECT 1 FROM catalog WHERE ${BEHIND}) AS "isUnmarked",
     EXISTS (SELECT 1 FROM setting WHERE name = 'release-words') AS "hasWords",
     (SELECT max(id) FROM takedown) AS takedowns,
     catalog.name, (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = catalog.name) AS serial
   FROM (SELECT 1 AS one) AS one LEFT JOIN catalog ON catalog.deleted IS NULL ORDER BY catalog.name`,
);
const eventRows = text<Record<string, unknown> & { sequence: number }>(
  `SELECT sequence, type, at, group_name, kind, release, digest, catalog, serial FROM event
   WHERE sequence IN (:one, :other)`,
);
const releaseEvents = text<FunctionName & { sequence: number }>(
  `SELECT sequence, group_name AS "group", kind FROM event
   WHERE sequence > :after AND sequence <= :through AND type LIKE 'release.%' ORDER BY sequence LIMIT :limit`,
);
const functionsAfter = text<FunctionName>(
  `SELECT group_name AS "group", kind FROM function
   WHERE (group_name, kind) > (:group, :kind) ORDER BY group_name, kind LIMIT :limit`,
);
const CHANGED = `SELECT group_name AS "group", kind FROM catalog_function
   WHERE catalog = :catalog AND from_serial > :searched AND from_serial <= :newest`;
const someChanged = text<FunctionName>(`${CHANGED} GROUP BY group_name, kind LIMIT :limit`);
const changedAfter = text<FunctionName>(
  `${CHANGED} AND (group_name, kind) > (:group, :kind)
   GROUP BY group_name, kind ORDER BY group_name, kind LIMIT :limit`,
);
const mark = text(
  `UPDATE catalog SET searched_serial = (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = catalog.name)
   WHERE ${BEHIND}`,
);

export function* recordState(): Work<RecordState> {
  const rows = yield* state.all();
  const serials = new Map<string, number>();
  for (const { name, serial } of rows)
    if (name !== null && serial !== null) serials.set(name, Number(serial));
  const [first] = rows;
  return {
    event: Number(first?.event ?? 0),
    serials,
    isUnmarked: Number(first?.isUnmarked) === 1,
    hasWords: Number(first?.hasWords) === 1,
    takedowns: Number(first?.takedowns ?? 0),
  };
}

/** Returns what an event is, as text; empty for the state before the first event. */
export function* eventMark(sequence: number): Work<string> {
  return (yield* eventMarks(sequence, sequence))[0];
}

/** Returns what two events are. */
export function* eventMarks(one: number, other: number): Work<[string, string]> {
  if (one === 0 && other === 0) return ['', ''];
  const marks = new Map([[0, '']]);
  for (const { sequence, ...row } of yield* eventRows.all({ one, other }))
    marks.set(Number(sequence), JSON.stringify(Object.values(row)));
  return [marks.get(one) ?? 'none', marks.get(other) ?? 'none'];
}

/** Returns the events of releases after a sequence, up to another, oldest first. */
export function releasesAfter(
  after: number,
  through: number,
  limit: number,
): Work<(FunctionName & { sequence: number })[]> {
  return releaseEvents.all({ after, through, limit });
}

/** Returns functions of the registry after a name, in order. */
export function functionPage(after: FunctionName, limit: number): Work<FunctionName[]> {
  return functionsAfter.all({ ...after, limit });
}

export interface Serials {
  catalog: string;
  searched: number;
  newest: number;
}

/** Returns some functions with a changed entry after one serial, up to another. */
export function changedFunctions(serials: Serials, limit: number): Work<FunctionName[]> {
  return someChanged.all({ ...serials, limit });
}

/** Returns these functions after a name, in order. */
export function changedPage(serials: Serials, after: FunctionName, limit: number): Work<FunctionName[]> {
  return changedAfter.all({ ...serials, ...after, limit });
}

/** Lets purges delete rows of deleted catalogs: an index outside of the database does not need them. */
export function* markSearched(): Work<void> {
  yield* mark.run();
}
