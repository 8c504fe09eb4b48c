import type { Digest, Takedown } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { and, asc, eq, max, sql } from 'drizzle-orm';
import { inList, query, text, type Work } from '../../sql/statement.js';
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
const pinsOf = text<{ takedown: number; pin: Digest }>(
  inList(
    (takedowns) =>
      `SELECT takedown, pin FROM takedown_pin WHERE CAST(takedown AS text) IN ${takedowns} ORDER BY takedown, pin`,
    ':takedowns',
  ),
);

export function* insertTakedownPins(takedown: number, pins: readonly Digest[]): Work<void> {
  if (pins.length > 0) yield* insertPins.run({ takedown, pins: JSON.stringify(pins) });
}

/** Returns takedowns with the digests that their runtimes named. */
export function* withRuntimeDigests(rows: readonly (typeof takedowns.$inferSelect)[]): Work<Takedown[]> {
  const pins = new Map<number, Digest[]>();
  const ids = JSON.stringify(rows.map(({ id }) => String(id)));
  for (const { takedown, pin } of rows.length === 0 ? [] : yield* pinsOf.all({ takedowns: ids }))
    pins.set(takedown, [...(pins.get(takedown) ?? []), pin]);
  return rows.map((row) => {
    const runtimeDigests = pins.get(row.id);
    return { ...takedown(row), ...defined({ runtimeDigests }) };
  });
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
