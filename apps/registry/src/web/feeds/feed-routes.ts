import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { sha256 } from '@krmhub/schema';
import { bytesAnswer, CACHE_ASKING } from '../../http/bytes-response.js';
import { foundFunction } from '../../routes/find-function.js';
import type { RegistryApp, RegistryContext } from '../../server/environment.js';
import { FEED_OF_RELEASES, feedOfFunctionPath, functionPath, searchPath } from '../addresses.js';
import { codedBody } from '../coded-body.js';
import { servePage } from '../serve-page.js';
import type { WebParts } from '../web-routes.js';
import { ATOM_MEDIA_TYPE, atomFeed, type Feed, permanentId } from './atom.js';
import { functionEntries, registryEntries } from './release-entries.js';

const feed = { 200: { description: 'An Atom feed' } };

export const FEED_ROUTES = {
  feedOfReleases: createRoute({ method: 'get', path: FEED_OF_RELEASES, responses: feed }),
  feedOfFunction: createRoute({
    method: 'get',
    path: '/functions/{group}/{kind}/releases.atom',
    request: { params: z.object({ group: parameters.Group, kind: parameters.Kind }) },
    responses: feed,
  }),
} as const;

/** Where a feed has no entry yet, nothing happened since then. */
const NEVER = '1970-01-01T00:00:00.000Z';

export function feedRoutes(app: RegistryApp, { store, site }: WebParts): void {
  let kept: { sequence: number; text: string } | undefined;

  servePage(app, FEED_ROUTES.feedOfReleases, {}, async (c) => {
    const sequence = await store.lastEvent();
    if (kept?.sequence !== sequence) {
      const entries = await registryEntries(store, site);
      const text = atomFeed(feedOf('Releases of all functions', FEED_OF_RELEASES, searchPath(), entries));
      kept = { sequence, text };
    }
    return feedAnswer(c, kept.text);
  });

  servePage(app, FEED_ROUTES.feedOfFunction, {}, async (c, { params }) => {
    const fn = await foundFunction(store, params);
    const entries = functionEntries(fn, await store.takedowns(fn.group, fn.kind), site);
    const title = `Releases of ${fn.group}/${fn.kind}`;
    return feedAnswer(c, atomFeed(feedOf(title, feedOfFunctionPath(fn), functionPath(fn), entries)));
  });

  function feedOf(title: string, self: string, page: string, entries: Feed['entries']): Feed {
    return {
      title,
      self: site.whole(self),
      page: site.whole(page),
      id: permanentId('feed', site.publicUrl ?? '', self),
      updated: NEVER,
      entries,
    };
  }
}

function feedAnswer(c: RegistryContext, text: string): Promise<Response> {
  const bytes = new TextEncoder().encode(text);
  return bytesAnswer(c, {
    digest: sha256(bytes),
    mediaType: ATOM_MEDIA_TYPE,
    cacheControl: CACHE_ASKING,
    coded: true,
    find: (coding) => codedBody(bytes, coding),
  });
}
