/**
 * Reads and appends events, and finds the functions that events changed.
 *
 * @module
 */

import type { Event, EventStore } from '@krmhub/catalog';
import type { Digest, TakenDownSigner } from '@krmhub/schema';
import { and, asc, eq, getTableColumns, gt, inArray, lt, max, sql } from 'drizzle-orm';
import type { Sql } from '../../sql/sql.js';
import { inList, query, text, type Work } from '../../sql/statement.js';
import { takedownPins } from '../schema/runtime-pins.js';
import { events, IS_REVOCATION, takedowns } from '../schema/schema.js';
import { countRefused, refusedDigests } from '../takedowns/takedown-rows.js';
import { functionsChanged, functionsOfContestedGroups, releasesChanged } from './functions-changed.js';

/** So that a page has at most about a mebibyte of digests, or those of one definition. */
const MAX_DIGESTS_PER_PAGE = 10_000;

const inOrder = query((db) =>
  db
    .select()
    .from(events)
    .where(and(gt(events.sequence, sql.placeholder('after')), lt(events.sequence, sql.placeholder('before'))))
    .orderBy(asc(events.sequence))
    .limit(sql.placeholder('limit')),
);
/** Revocations with their takedowns. `count` digests limit them to takedowns that refuse one of them. */
const revoking = (count?: number) =>
  query((db) => {
    const digests = Array.from({ length: count ?? 0 }, (_, at) => sql.placeholder(`digest${at}`));
    const refusing = db
      .select({ takedown: takedownPins.takedown })
      .from(takedownPins)
      .where(inArray(takedownPins.pin, digests));
    return db
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
      .where(
        and(
          gt(events.sequence, sql.placeholder('after')),
          sql.raw(IS_REVOCATION),
          count === undefined ? undefined : inArray(takedowns.id, refusing),
        ),
      )
      .orderBy(asc(events.sequence))
      .limit(sql.placeholder('limit'));
  });
const allRevoking = revoking();
/** By the number of digests, of which a request has a few. */
const revokingDigests = new Map<number, ReturnType<typeof revoking>>();
const isRefused = text<{ pin: Digest }>(
  inList((digests) => `SELECT pin FROM takedown_pin WHERE pin IN ${digests} LIMIT 1`, ':digests'),
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
    events: (after, limit, before = Number.MAX_SAFE_INTEGER) =>
      readDurable(function* () {
        return (yield* inOrder.all({ after, before, limit: Math.max(0, limit) })).map(withoutEmpty);
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

type RevocationRow = typeof events.$inferSelect & {
  signers: TakenDownSigner[] | null;
  scripts: Digest[] | null;
  /** ID of the takedown. */
  takedown: number | null;
};

interface RevocationQuery {
  after: number;
  limit: number;
  digests?: readonly Digest[] | undefined;
}

function* revocations({ after, limit, digests }: RevocationQuery): Work<Event[]> {
  if (digests === undefined) return yield* present(yield* allRevoking.all({ after, limit }));
  // Nearly always.
  if ((yield* isRefused.first({ digests: JSON.stringify(digests) })) === undefined) return [];
  const statement = revokingDigests.get(digests.length) ?? revoking(digests.length);
  revokingDigests.set(digests.length, statement);
  const wanted = Object.fromEntries(digests.map((digest, at) => [`digest${at}`, digest]));
  return yield* present(yield* statement.all({ after, limit, ...wanted }));
}

/** Returns rows with their digests, but no more of them than one page can have. */
function* present(rows: readonly RevocationRow[]): Work<Event[]> {
  const ids = rows.flatMap(({ takedown }) => takedown ?? []);
  if (ids.length === 0) return rows.map(withoutEmpty);
  const counts = yield* countRefused(ids);
  let total = 0;
  const shown = rows.filter(({ takedown, scripts }, index) => {
    total += (counts.get(takedown ?? 0) ?? 0) + (scripts?.length ?? 0);
    return index === 0 || total <= MAX_DIGESTS_PER_PAGE;
  });
  const digests = yield* refusedDigests(shown.flatMap(({ takedown }) => takedown ?? []));
  return shown.map((row) => withoutEmpty({ ...row, runtimeDigests: digests.get(row.takedown ?? 0) ?? null }));
}
/** Returns the row without its empty columns. */
function withoutEmpty({
  takedown: _,
  ...row
}: typeof events.$inferSelect & Partial<RevocationRow> & { runtimeDigests?: Digest[] | null }): Event {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as Event;
}
