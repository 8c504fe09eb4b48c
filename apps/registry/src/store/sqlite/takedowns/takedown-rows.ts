import type { Takedown } from '@krmhub/schema';
import { and, asc, eq, max, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { takedowns } from '../schema/schema.js';

/** Queries on takedowns for other tables, within one transaction. */

const ofFunction = and(
  eq(takedowns.group, sql.placeholder('group')),
  eq(takedowns.kindFolded, sql.placeholder('kindFolded')),
);

/** Returns takedowns of a function in their order, ignoring the case of the kind. */
export function functionTakedowns({ db }: Connection): (group: string, kind: string) => Takedown[] {
  const statement = prepared(() =>
    db.select().from(takedowns).where(ofFunction).orderBy(asc(takedowns.id)).prepare(),
  );
  return (group, kind) => statement.all({ group, kindFolded: kind.toLowerCase() }).map(takedown);
}

/** Returns the revision of a function after its last takedown; 0 without one. */
export function lastRevision({ db }: Connection): (group: string, kind: string) => number {
  const statement = prepared(() =>
    db
      .select({ revision: max(takedowns.revision) })
      .from(takedowns)
      .where(ofFunction)
      .prepare(),
  );
  return (group, kind) => statement.get({ group, kindFolded: kind.toLowerCase() })?.revision ?? 0;
}

export function takedown(row: typeof takedowns.$inferSelect): Takedown {
  const { group, kind, release, digest, at, by, reason, signers } = row;
  return { group, kind, release, digest, at, by, reason, ...(signers !== null && { signers }) };
}
