import type { Event, EventStore, NewEvent } from '@krmhub/catalog';
import type { TakenDownSigner } from '@krmhub/schema';
import { and, asc, eq, getTableColumns, gt, max, sql } from 'drizzle-orm';
import type { Connection } from '../connection.js';
import { rowInserter } from '../insert-row.js';
import { prepared } from '../prepared.js';
import { events, IS_REVOCATION, takedowns } from '../schema/schema.js';
import { functionsChanged } from './functions-changed.js';

export function eventRows(connection: Connection): EventStore {
  const { db, read } = connection;
  const page = prepared(() =>
    db
      .select()
      .from(events)
      .where(gt(events.sequence, sql.placeholder('after')))
      .orderBy(asc(events.sequence))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const revoking = prepared(() =>
    db
      .select({ ...getTableColumns(events), signers: takedowns.signers })
      .from(events)
      .leftJoin(
        takedowns,
        and(
          eq(events.type, 'release.taken-down'),
          eq(takedowns.group, events.group),
          eq(takedowns.kindFolded, sql`lower(${events.kind})`),
          eq(takedowns.release, events.release),
        ),
      )
      .where(and(gt(events.sequence, sql.placeholder('after')), sql.raw(IS_REVOCATION)))
      .orderBy(asc(events.sequence))
      .limit(sql.placeholder('limit'))
      .prepare(),
  );
  const last = prepared(() =>
    db
      .select({ sequence: max(events.sequence) })
      .from(events)
      .prepare(),
  );
  /** A client asks for the events after the last that it has read: no other event may ever have its number. */
  const readDurable = async <Result>(work: () => Result): Promise<Result> => {
    const result = await read(work);
    await connection.durable();
    return result;
  };
  return {
    events: (after, limit) => readDurable(() => page.all({ after, limit: Math.max(0, limit) }).map(present)),
    revocations: (after, limit) =>
      readDurable(() => revoking.all({ after, limit: Math.max(0, limit) }).map(present)),
    lastEvent: () => readDurable(() => last.get()?.sequence ?? 0),
    changedFunctions: functionsChanged(connection),
  };
}

/** Appends an event. Call it in a transaction. */
export function eventAppender(connection: Connection): (event: NewEvent) => Event {
  const insert = rowInserter(connection, events);
  return (event) => ({ ...event, sequence: insert(event) });
}

/** Returns the row without its empty columns. */
function present(row: typeof events.$inferSelect & { signers?: TakenDownSigner[] | null }): Event {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Event;
}
