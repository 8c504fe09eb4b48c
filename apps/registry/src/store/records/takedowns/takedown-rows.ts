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
  sqlite: 'INSERT INTO takedown_pin (takedown, pin) SELECT :takedown, value FROM json_each(:pins)',
  postgres:
    'INSERT INTO takedown_pin (takedown, pin) SELECT :takedown::bigint, json_array_elements_text(:pins::json)',
});
const selectPins = text<{ pin: Digest }>(
  'SELECT pin FROM takedown_pin WHERE takedown = :takedown ORDER BY pin',
);
const selectUnusedPins = text<{ pin: Digest }>(
  `SELECT pin FROM takedown_pin WHERE takedown = :takedown
     AND NOT EXISTS (SELECT 1 FROM release_pin WHERE release_pin.pin = takedown_pin.pin) ORDER BY pin`,
);

export function* insertTakedownPins(takedown: number, pins: readonly Digest[]): Work<void> {
  if (pins.length > 0) yield* insertPins.run({ takedown, pins: JSON.stringify(pins) });
}

/** Returns takedowns with the digests that their runtimes named. */
export function* withRuntimeDigests(rows: readonly (typeof takedowns.$inferSelect)[]): Work<Takedown[]> {
  const found: Takedown[] = [];
  for (const row of rows) {
    const runtimeDigests = (yield* selectPins.all({ takedown: row.id })).map(({ pin }) => pin);
    found.push({
      ...takedown(row),
      ...defined({ runtimeDigests: runtimeDigests.length === 0 ? undefined : runtimeDigests }),
    });
  }
  return found;
}

/** Returns by takedown the digests that its runtimes named and no release names now; nothing for none. */
export function* unusedDigests(ids: readonly number[]): Work<Map<number, Digest[]>> {
  const found = new Map<number, Digest[]>();
  for (const takedown of ids) {
    const digests = (yield* selectUnusedPins.all({ takedown })).map(({ pin }) => pin);
    if (digests.length > 0) found.set(takedown, digests);
  }
  return found;
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
