/**
 * Pages about the registry itself: what happened in it, and the keys with which it signs.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import type { EventStore } from '@krmhub/catalog';
import { publishedKeys, type RegistryKeys } from '../../catalogs/sign/registry-keys.js';
import type { RegistryApp } from '../../http/context.js';
import { KEYS, PUBLIC_EVENTS } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { EventsPage } from './events-page.js';
import { KeysPage } from './keys-page.js';
import { BeforeEvent, readEvents } from './read-events.js';

const page = { 200: { description: 'A page' } };

export const REGISTRY_PAGE_ROUTES = {
  eventsPage: createRoute({
    method: 'get',
    path: PUBLIC_EVENTS,
    request: { query: z.object({ before: BeforeEvent }) },
    responses: page,
  }),
  keysPage: createRoute({ method: 'get', path: KEYS, responses: page }),
} as const;

export interface RegistryPageDeps {
  store: EventStore;
  keys: RegistryKeys;
  site: Site;
}

/** Both are public, as is what they show in the HTTP API. */
export function registryPageRoutes(app: RegistryApp, { store, keys, site }: RegistryPageDeps): void {
  servePage(app, REGISTRY_PAGE_ROUTES.eventsPage, {}, async (c, { query: { before } }) =>
    pageResponse(c, site, {
      head: {
        title: 'Events',
        description: 'What happened in this registry, newest first.',
        path: PUBLIC_EVENTS,
        isIndexed: before === undefined,
      },
      body: <EventsPage part={await readEvents(store, { before })} isFirst={before === undefined} />,
    }),
  );
  servePage(app, REGISTRY_PAGE_ROUTES.keysPage, {}, async (c) =>
    pageResponse(c, site, {
      head: {
        title: 'Keys of this registry',
        description: 'The public keys that sign the snapshots of this registry.',
        path: KEYS,
      },
      body: (
        <KeysPage
          keys={publishedKeys(await keys.all())}
          signing={(await keys.signing()).publicKey.fingerprint}
        />
      ),
    }),
  );
}
