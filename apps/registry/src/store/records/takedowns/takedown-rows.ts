import type { Digest, Takedown } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, max, sql } from 'drizzle-orm';
import { query, text, type Work } from '../../sql/statement.js';
import { takedowns } from '../schema/schema.js';

/** Queries on takedowns for other tables, within one transaction. */

const ofFunction = and(
  eq(takedowns.group, sql.placeholder('group')),
  eq(takedowns.kindFolded, sql.placeholder('kindFolded')),
);
const inOrder = query((db) => db.select().from(takedowns).where(ofFunction).orderBy(asc(takedowns.id)));
const last = query((db) =>
  db
    .select({ revision: max(takedowns.revision) })
    .from(takedowns)
    .where(ofFunction),
);

const insertPins = text<never>({
  sqlite: `INSERT INTO takedown_pin (takedown, pin) SELECT :takedown, value FROM json_each(:pins) WHERE true
    ON CONFLICT DO NOTHING`,
  postgres: `INSERT INTO takedown_pin (takedown, pin) SELECT :takedown::bigint, json_array_elements_text(:pins::json)
    ON CONFLICT DO NOTHING`,
});
/** The placeholder is a JSON list of numbers. */
const amongTakedowns = (source: (condition: string) => string) => ({
  sqlite: source('takedown IN (SELECT value FROM json_each(:takedowns))'),
  postgres: source('takedown IN (SELECT json_array_elements_text(:takedowns::json)::bigint)'),
});
const selectPins = text<{ takedown: number; pin: Digest }>(
  amongTakedowns(
    (condition) => `SELECT takedown, pin FROM takedown_pin WHERE ${condition} ORDER BY takedown, pin`,
  ),
);
const selectCounts = text<{ takedown: number; count: number }>(
  amongTakedowns(
    (condition) =>
      `SELECT takedown, count(*) AS count FROM takedown_pin WHERE ${condition} GROUP BY takedown`,
  ),
);
const deletePins = text<never>(
  `DELETE FROM takedown_pin WHERE takedown IN (SELECT id FROM takedown
     WHERE group_name = :group AND kind_folded = :kindFolded AND release = :release)`,
);

export function* insertTakedownPins(takedown: number, pins: readonly Digest[]): Work<void> {
  if (pins.length > 0) yield* insertPins.run({ takedown, pins: JSON.stringify(pins) });
}

/** Returns takedowns with the digests that the registry refuses for them. */
export function* withRuntimeDigests(rows: readonly (typeof takedowns.$inferSelect)[]): Work<Takedown[]> {
  const refused = yield* refusedDigests(rows.map(({ id }) => id));
  return rows.map((row) => ({ ...takedown(row), ...defined({ runtimeDigests: refused.get(row.id) }) }));
}

/** Returns by takedown the digests that the registry refuses for it; nothing for none. */
export function* refusedDigests(ids: readonly number[]): Work<Map<number, Digest[]>> {
  const found = new Map<number, Digest[]>();
  for (const { takedown, pin } of yield* selectPins.all({ takedowns: JSON.stringify(ids) })) {
    const digests = found.get(takedown);
    if (digests === undefined) found.set(takedown, [pin]);
    else digests.push(pin);
  }
  return found;
}

/** Returns by takedown how many digests the registry refuses for it; nothing for none. */
export function* countRefused(ids: readonly number[]): Work<Map<number, number>> {
  const counts = yield* selectCounts.all({ takedowns: JSON.stringify(ids) });
  return new Map(counts.map(({ takedown, count }) => [takedown, count]));
}

/** Allows the digests again that are refused for a release. */
export function* allowDigests(name: { group: string; kindFolded: string; release: string }): Work<void> {
  yield* deletePins.run(name);
}

/** Returns takedowns of a function in their order, ignoring the case of the kind. */
export function* functionTakedowns(group: string, kind: string): Work<Takedown[]> {
  return (yield* inOrder.all({ group, kindFolded: kind.toLowerCase() })).map(takedown);
}

/** Returns the revision of a function after its last takedown; 0 without one. */
export function* lastRevision(group: string, kind: string): Work<number> {
  return (yield* last.first({ group, kindFolded: kind.toLowerCase() }))?.revision ?? 0;
}

export function takedown(row: typeof takedowns.$inferSelect): Takedown {
  const { group, kind, release, digest, at, by, reason, signers, scripts } = row;
  return {
    group,
    kind,
    release,
    digest,
    at,
    by,
    reason,
    ...defined({ signers: signers ?? undefined, scripts: scripts ?? undefined }),
  };
}
