import { createRoute, z } from '@hono/zod-openapi';
import type { Event, EventStore } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';
import { EVENTS } from '../addresses.js';
import { EventsPage } from './events-page.js';
import type { OperatorPages } from './operator-pages.js';

export const EVENT_PAGE_ROUTES = {
  operateEvents: createRoute({
    method: 'get',
    path: EVENTS,
    request: {
      query: z.object({
        by: z.string().max(200, 'is longer than 200 characters').optional(),
        before: z
          .string()
          .regex(/^[1-9]\d{0,14}$/, 'is not an event sequence')
          .transform(Number)
          .optional(),
      }),
    },
    responses: { 200: { description: 'What happened, newest first' } },
  }),
} as const;

/** Events of a page, events per read, and reads of a page: few events are of one token. */
const LIMITS = { onPage: 50, atOnce: 500, maxReads: 20 } as const;

export interface EventPageDeps {
  store: EventStore;
}

export function eventPageRoutes({ store }: EventPageDeps, pages: OperatorPages): void {
  pages.page(EVENT_PAGE_ROUTES.operateEvents, {}, async (_, { query: { by: typed, before } }) => {
    const by = typed === undefined || typed.trim() === '' ? undefined : typed.trim();
    const found = await readEvents(store, by, before ?? (await store.lastEvent()) + 1);
    const shown = { ...found, by, isFirst: before === undefined };
    return { head: { title: 'Events', path: EVENTS }, body: <EventsPage shown={shown} /> };
  });
}

/** Reads the events before a sequence, newest first; after many without a match, the next page continues. */
async function readEvents(
  store: EventPageDeps['store'],
  by: string | undefined,
  start: number,
): Promise<{ events: Event[]; before?: number }> {
  const events: Event[] = [];
  let before = start;
  for (let reads = 0; reads < LIMITS.maxReads && before > 1; reads += 1) {
    const after = Math.max(before - LIMITS.atOnce - 1, 0);
    const read = (await store.events(after, LIMITS.atOnce)).filter(({ sequence }) => sequence < before);
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
