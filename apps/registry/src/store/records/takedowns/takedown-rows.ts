import type { Takedown } from '@krmhub/schema';
import { and, asc, eq, max, sql } from 'drizzle-orm';
import { query, type Work } from '../../sql/statement.js';
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
    ...(signers !== null && { signers }),
    ...(scripts !== null && { scripts }),
  };
}
