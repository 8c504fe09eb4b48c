/**
 * Reads and appends events, and finds the functions that events changed.
 *
 * @module
 */

import type { Event, EventStore } from '@krmhub/catalog';
import type { Digest, TakenDownSigner } from '@krmhub/schema';
import { and, asc, eq, getTableColumns, gt, max, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { inList, query, text, type Work } from '../../sql/statement.js';
import { events, IS_REVOCATION, takedowns } from '../schema/schema.js';
import { unusedDigests } from '../takedowns/takedown-rows.js';
import { functionsChanged, functionsOfContestedGroups, releasesChanged } from './functions-changed.js';

const inOrder = query((db) =>
  db
    .select()
    .from(events)
    .where(gt(events.sequence, sql.placeholder('after')))
    .orderBy(asc(events.sequence))
    .limit(sql.placeholder('limit')),
);
const revoking = query((db) =>
  db
    .select({
      ...getTableColumns(events),
      signers: takedowns.signers,
      scripts: takedowns.scripts,
      takedown: takedowns.id,
    })
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
/** Takedowns of releases whose runtimes named one of some digests, which no release names now. */
const takedownsNaming = text<{ takedown: number }>(
  inList(
    (digests) =>
      `SELECT DISTINCT takedown FROM takedown_pin WHERE pin IN ${digests}
         AND NOT EXISTS (SELECT 1 FROM release_pin WHERE release_pin.pin = takedown_pin.pin)`,
    ':digests',
  ),
);
const selectEvents = text<{ sequence: number }>(
  inList(
    (ids) =>
      `SELECT sequence FROM event JOIN takedown ON takedown.group_name = event.group_name
         AND takedown.kind_folded = lower(event.kind) AND takedown.release = event.release
       WHERE ${IS_REVOCATION} AND type = 'release.taken-down' AND sequence > :after
         AND CAST(takedown.id AS text) IN ${ids} ORDER BY sequence LIMIT :limit`,
    ':ids',
  ),
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
        return (yield* inOrder.all({ after, limit: Math.max(0, limit) })).map(present);
      }),
    async revocations(after, limit, digests) {
      const found = await read(() => revocations({ after, limit: Math.max(0, limit), digests }));
      await durable();
      return found;
    },
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

interface RevocationQuery {
  after: number;
  limit: number;
  digests?: readonly Digest[] | undefined;
}

function* revocations({ after, limit, digests }: RevocationQuery): Work<Event[]> {
  if (digests === undefined) return yield* page({ after, limit });
  const takedowns = yield* takedownsNaming.all({ digests: JSON.stringify(digests) });
  // Nearly always.
  if (takedowns.length === 0) return [];
  const ids = JSON.stringify(takedowns.map(({ takedown }) => String(takedown)));
  const found: Event[] = [];
  for (const { sequence } of yield* selectEvents.all({ ids, after, limit })) {
    const [event] = yield* page({ after: sequence - 1, limit: 1 });
    if (event !== undefined) found.push(event);
  }
  return found;
}

function* page({ after, limit }: RevocationQuery): Work<Event[]> {
  const rows = yield* revoking.all({ after, limit });
  const digests = yield* unusedDigests(rows.flatMap(({ takedown }) => takedown ?? []));
  return rows.map(({ takedown, ...row }) =>
    present({ ...row, runtimeDigests: digests.get(takedown ?? 0) ?? null }),
  );
}

/** Returns the row without its empty columns. */
function present(
  row: typeof events.$inferSelect & {
    signers?: TakenDownSigner[] | null;
    scripts?: Digest[] | null;
    runtimeDigests?: Digest[] | null;
  },
): Event {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Event;
}
