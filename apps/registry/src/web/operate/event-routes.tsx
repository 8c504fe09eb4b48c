import { createRoute, z } from '@hono/zod-openapi';
import type { EventStore } from '@krmhub/catalog';
import { EVENTS } from '../addresses.js';
import { BeforeEvent, readEvents } from '../registry/read-events.js';
import { EventsPage } from './events-page.js';
import type { OperatorPages } from './operator-pages.js';

export const EVENT_PAGE_ROUTES = {
  operateEvents: createRoute({
    method: 'get',
    path: EVENTS,
    request: {
      query: z.object({
        by: z.string().max(200, 'is longer than 200 characters').optional(),
        before: BeforeEvent,
      }),
    },
    responses: { 200: { description: 'What happened, newest first' } },
  }),
} as const;

export interface EventPageDeps {
  store: EventStore;
}

export function eventPageRoutes({ store }: EventPageDeps, pages: OperatorPages): void {
  pages.page(EVENT_PAGE_ROUTES.operateEvents, {}, async (_, { query: { by: typed, before } }) => {
    const by = typed === undefined || typed.trim() === '' ? undefined : typed.trim();
    const found = await readEvents(store, { by, before });
    const shown = { ...found, by, isFirst: before === undefined };
    return { head: { title: 'Events', path: EVENTS }, body: <EventsPage shown={shown} /> };
  });
}
