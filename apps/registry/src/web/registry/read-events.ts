import { z } from '@hono/zod-openapi';
import type { Event, EventStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** Sequence below which the events of a page are, in a query. */
export const BeforeEvent = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'is not an event sequence')
  .transform(Number)
  .optional();

/** Events of a page, events per read, and reads of a page: few events are of one token. */
const LIMITS = { onPage: 20, atOnce: 500, maxReads: 20 } as const;

export interface EventPart {
  /** Newest first. */
  events: readonly Event[];
  /** Sequence below which older events are; absent for the oldest. */
  before?: number;
}

/** Reads the events before a sequence, newest first; after many without a match, the next page continues. */
export async function readEvents(
  store: EventStore,
  { by, before: start }: { by?: string | undefined; before: number | undefined },
): Promise<EventPart> {
  const events: Event[] = [];
  let before = start ?? (await store.lastEvent()) + 1;
  for (let reads = 0; reads < LIMITS.maxReads && before > 1; reads += 1) {
    const after = Math.max(before - LIMITS.atOnce - 1, 0);
    const read = await store.events(after, LIMITS.atOnce, before);
    for (const event of read.reverse()) {
      if (by !== undefined && event.by !== by) continue;
      events.push(event);
      if (events.length === LIMITS.onPage)
        return { events, ...defined({ before: event.sequence > 1 ? event.sequence : undefined }) };
    }
    before = after + 1;
  }
  return { events, ...defined({ before: before > 1 ? before : undefined }) };
}
