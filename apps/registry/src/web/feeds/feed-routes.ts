import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import type { EventStore, FunctionStore } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { bytesResponse, CACHE_REVALIDATE } from '../../http/bytes-response.js';
import { codedBody } from '../../http/coded-body.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { FindStore } from '../../store/find-record.js';
import { findFunction } from '../../store/find-record.js';
import { functionFeedPath, functionPath, RELEASES_FEED, searchPath } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { ATOM_MEDIA_TYPE, atomFeed, type Feed } from './atom.js';
import { feedId } from './feed-id.js';
import { functionEntries, registryEntries } from './release-entries.js';

const feed = { 200: { description: 'An Atom feed' } };

export const FEED_ROUTES = {
  feedOfReleases: createRoute({ method: 'get', path: RELEASES_FEED, responses: feed }),
  feedOfFunction: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases.atom',
    request: { params: z.object({ group: parameters.Group, kind: parameters.Kind }) },
    responses: feed,
  }),
} as const;

/** Time of a feed without entries. */
const NEVER = '1970-01-01T00:00:00.000Z';

export interface FeedDeps {
  store: FunctionStore & EventStore & FindStore;
  site: Site;
}

export function feedRoutes(app: RegistryApp, { store, site }: FeedDeps): void {
  let cached: { sequence: number; text: string } | undefined;

  servePage(app, FEED_ROUTES.feedOfReleases, {}, async (c) => {
    const sequence = await store.lastEvent();
    if (cached?.sequence !== sequence) {
      const entries = await registryEntries(store, site);
      const feed = await feedOf('Releases of all functions', RELEASES_FEED, searchPath(), entries);
      const text = atomFeed(feed);
      cached = { sequence, text };
    }
    return feedResponse(c, cached.text);
  });

  servePage(app, FEED_ROUTES.feedOfFunction, {}, async (c, { params }) => {
    const fn = await findFunction(store, params);
    const entries = functionEntries(fn, await store.takedowns(fn.group, fn.kind), site);
    const title = `Releases of ${fn.group}/${fn.kind}`;
    return feedResponse(c, atomFeed(await feedOf(title, functionFeedPath(fn), functionPath(fn), entries)));
  });

  async function feedOf(title: string, self: string, page: string, entries: Feed['entries']): Promise<Feed> {
    return {
      title,
      self: site.whole(self),
      page: site.whole(page),
      id: await feedId(store, self),
      updated: NEVER,
      entries,
    };
  }
}

function feedResponse(c: RegistryContext, text: string): Promise<Response> {
  const bytes = new TextEncoder().encode(text);
  return bytesResponse(c, {
    digest: sha256(bytes),
    mediaType: ATOM_MEDIA_TYPE,
    cacheControl: CACHE_REVALIDATE,
    coded: true,
    find: (coding) => codedBody(bytes, coding),
  });
}
