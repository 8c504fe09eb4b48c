import type { EventPage, RevocationPage } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import type { EventStore } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { storedJsonResponse, toJson } from '../http/stored-json.js';

export function eventRoutes(app: RegistryApp, { store }: { store: EventStore }): void {
  serveRoute(app, ROUTES.events, async (c, { query }) => {
    const events = await store.events(query.after, query.limit);
    const result: EventPage = { events, next: events.at(-1)?.sequence ?? query.after };
    return c.json(result);
  });

  serveRoute(app, ROUTES.revocations, async (c, { query }) => {
    const revocations = await store.revocations(
      query.after,
      query.limit,
      query.digest as Digest[] | undefined,
    );
    const result: RevocationPage = { revocations, next: revocations.at(-1)?.sequence ?? query.after };
    return storedJsonResponse(c, result, async () => toJson(result));
  });
}
