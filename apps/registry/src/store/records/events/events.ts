import type { Event, EventStore } from '@krmhub/catalog';
import type { Digest, TakenDownSigner } from '@krmhub/schema';
import { and, asc, eq, getTableColumns, gt, max, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { query, type Work } from '../../sql/statement.js';
import { events, IS_REVOCATION, takedowns } from '../schema/schema.js';
import { functionsChanged, functionsOfContestedGroups, releasesChanged } from './functions-changed.js';

const page = query((db) =>
  db
    .select()
    .from(events)
    .where(gt(events.sequence, sql.placeholder('after')))
    .orderBy(asc(events.sequence))
    .limit(sql.placeholder('limit')),
);
const revoking = query((db) =>
  db
    .select({ ...getTableColumns(events), signers: takedowns.signers, scripts: takedowns.scripts })
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
    .limit(sql.placeholder('limit')),
);
const last = query((db) => db.select({ sequence: max(events.sequence) }).from(events));

export function eventRows({ read, readOne, durable }: Sql): EventStore {
  /** A client asks for the events after the last that it has read: no other event may ever have its number. */
  const readDurable = async <Result>(work: () => Work<Result>): Promise<Result> => {
    const result = await readOne(work);
    await durable();
    return result;
  };
  return {
    events: (after, limit) =>
      readDurable(function* () {
        return (yield* page.all({ after, limit: Math.max(0, limit) })).map(present);
      }),
    revocations: (after, limit) =>
      readDurable(function* () {
        return (yield* revoking.all({ after, limit: Math.max(0, limit) })).map(present);
      }),
    lastEvent: () =>
      readDurable(function* () {
        return (yield* last.first())?.sequence ?? 0;
      }),
    async changedFunctions(after, through, catalog) {
      if (catalog === undefined) return readOne(() => releasesChanged(after, through));
      const first = await readOne(() => functionsChanged({ after, through, catalog }));
      // Nearly always: a group rarely comes to this registry, or leaves it.
      if (first !== undefined) return first;
      return read(() => functionsOfContestedGroups({ after, through, catalog }));
    },
  };
}

/** Returns the row without its empty columns. */
function present(
  row: typeof events.$inferSelect & { signers?: TakenDownSigner[] | null; scripts?: Digest[] | null },
): Event {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Event;
}
