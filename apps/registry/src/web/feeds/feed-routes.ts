/**
 * Atom feeds of releases: of the whole registry, and of one function.
 *
 * A feed is paged by positions that new entries do not move, so that its links stay correct.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import type { EventStore, FunctionStore } from '@krmhub/catalog';
import { sha256 } from '@krmhub/schema';
import { type KnownAccess, sightKey } from '../../http/auth/request-actor.js';
import { bytesResponse, CACHE_REVALIDATE } from '../../http/bytes-response.js';
import { codedBody } from '../../http/coded-body.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { FindStore } from '../../store/find-record.js';
import { findFunction } from '../../store/find-record.js';
import { functionFeedPath, functionPath, RELEASES_FEED, searchPath } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { ATOM_MEDIA_TYPE, atomFeed, FeedParameters, feedPath } from './atom.js';
import { feedId } from './feed-id.js';
import { type EntryPage, functionEntries, registryEntries } from './release-entries.js';

const feed = { 200: { description: 'An Atom feed' } };

export const FEED_ROUTES = {
  feedOfReleases: createRoute({
    method: 'get',
    path: RELEASES_FEED,
    request: { query: FeedParameters },
    responses: feed,
  }),
  feedOfFunction: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases.atom',
    request: {
      params: z.object({ group: parameters.Group, kind: parameters.Kind }),
      query: FeedParameters,
    },
    responses: feed,
  }),
} as const;

/** Time of a feed without entries. */
const NEVER = '1970-01-01T00:00:00.000Z';

export interface FeedDeps {
  store: FunctionStore & EventStore & FindStore;
  site: Site;
  access: KnownAccess;
}

export function feedRoutes(app: RegistryApp, { store, site, access }: FeedDeps): void {
  let cached: { state: string; text: string } | undefined;

  servePage(app, FEED_ROUTES.feedOfReleases, {}, async (c, { query: { before } }) => {
    const title = 'Releases of all functions';
    const read = async () =>
      renderFeed(
        { title, path: RELEASES_FEED, page: searchPath(), before },
        await registryEntries(store, site, before),
      );
    if (before !== undefined) return feedResponse(c, await read());
    const state = `${await store.lastEvent()} ${sightKey(access)}`;
    const known = cached?.state === state ? cached : { state, text: await read() };
    cached = known;
    return feedResponse(c, known.text);
  });

  servePage(app, FEED_ROUTES.feedOfFunction, {}, async (c, { params, query: { before } }) => {
    const fn = await findFunction(store, params);
    const takedowns = await store.takedowns(fn.group, fn.kind);
    const entries = await functionEntries(store, { ...fn, takedowns }, site, before);
    const title = `Releases of ${fn.group}/${fn.kind}`;
    const feed = { title, path: functionFeedPath(fn), page: functionPath(fn), before };
    return feedResponse(c, await renderFeed(feed, entries));
  });

  async function renderFeed(
    { title, path, page, before }: { title: string; path: string; page: string; before: number | undefined },
    { entries, next }: EntryPage,
  ): Promise<string> {
    return atomFeed({
      title,
      self: site.whole(feedPath(path, before)),
      page: site.whole(page),
      next: next === undefined ? undefined : site.whole(feedPath(path, next)),
      id: await feedId(store, path),
      updated: NEVER,
      entries,
    });
  }
}

/** Responds with an Atom feed, whose ETag is the digest of its bytes. */
export function feedResponse(c: RegistryContext, text: string): Promise<Response> {
  const bytes = new TextEncoder().encode(text);
  return bytesResponse(c, {
    digest: sha256(bytes),
    mediaType: ATOM_MEDIA_TYPE,
    cacheControl: CACHE_REVALIDATE,
    coded: true,
    find: (coding) => codedBody(bytes, coding),
  });
}
