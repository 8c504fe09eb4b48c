/**
 * Files for browsers and crawlers: robots.txt, security.txt, sitemaps, OpenSearch, and search suggestions.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import { SearchParameters } from '@krmhub/api/parameters';
import type { SearchReader } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import { CACHE_SHORT, textResponse } from '../../http/bytes-response.js';
import type { RegistryApp } from '../../http/context.js';
import { functionPath } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { cutText, visibleText } from '../visible-text.js';
import { openSearchDescription } from './opensearch.js';
import { robotsText } from './robots.js';
import { SECURITY_TXT, securityText } from './security.js';
import { type SitemapStore, Sitemaps } from './sitemaps.js';

export const DISCOVERY_ROUTES = {
  suggestions: createRoute({
    method: 'get',
    path: '/suggestions',
    request: { query: z.object({ q: SearchParameters.shape.q }) },
    responses: { 200: { description: 'OpenSearch suggestions for a search text' } },
  }),
  openSearch: createRoute({
    method: 'get',
    path: '/opensearch.xml',
    responses: { 200: { description: 'OpenSearch description' } },
  }),
  sitemapIndex: createRoute({
    method: 'get',
    path: '/sitemap.xml',
    responses: { 200: { description: 'The index of the sitemaps' } },
  }),
  sitemap: createRoute({
    method: 'get',
    path: '/sitemaps/{part}.xml',
    request: { params: z.object({ part: z.string().regex(/^[1-9]\d{0,5}$/, 'is not a number (1, 2, …)') }) },
    responses: { 200: { description: 'Pages for search engines' } },
  }),
  robots: createRoute({
    method: 'get',
    path: '/robots.txt',
    responses: { 200: { description: 'Rules for crawlers' } },
  }),
  security: createRoute({
    method: 'get',
    path: SECURITY_TXT,
    responses: { 200: { description: 'Whom to tell about security problems' } },
  }),
} as const;

const MAX_SUGGESTIONS = 8;
const MAX_DESCRIPTION = 120;

export interface DiscoveryDeps {
  config: { securityContacts?: readonly string[] };
  store: SearchReader & SitemapStore;
  clock: () => Date;
  site: Site;
  access: KnownAccess;
}

/** Serves robots.txt, the OpenSearch description and similar files for browsers and crawlers. */
export function discoveryRoutes(
  app: RegistryApp,
  { config, site, store, clock, access }: DiscoveryDeps,
): void {
  const sitemaps = new Sitemaps(store, site, clock, access);

  servePage(app, DISCOVERY_ROUTES.sitemapIndex, {}, async (c) => {
    refuseUnknownUrl(site);
    return textResponse(c, (await sitemaps.current()).index, XML);
  });

  servePage(app, DISCOVERY_ROUTES.sitemap, {}, async (c, { params: { part } }) => {
    refuseUnknownUrl(site);
    const text = (await sitemaps.current()).parts[Number(part) - 1];
    if (text === undefined) throw new KrmhubError('not-found', `path ${c.req.path} not found`);
    return textResponse(c, text, XML);
  });

  servePage(app, DISCOVERY_ROUTES.suggestions, {}, async (c, { query: { q = '' } }) => {
    const { items } =
      q.trim() === '' ? { items: [] } : await store.search({ text: q, limit: MAX_SUGGESTIONS });
    const suggestions = [
      q,
      items.map(({ group, kind }) => `${group}/${kind}`),
      items.map(({ description }) => cutText(visibleText(description), MAX_DESCRIPTION)),
      items.map((item) => (site.publicUrl === undefined ? site.at : site.whole)(functionPath(item))),
    ];
    return textResponse(c, JSON.stringify(suggestions), {
      mediaType: 'application/x-suggestions+json',
      cacheControl: CACHE_SHORT,
    });
  });

  servePage(app, DISCOVERY_ROUTES.openSearch, { rateLimitClass: 'free' }, (c) => {
    refuseUnknownUrl(site);
    return textResponse(c, openSearchDescription(site), {
      mediaType: 'application/opensearchdescription+xml',
      cacheControl: CACHE_SHORT,
    });
  });

  servePage(app, DISCOVERY_ROUTES.robots, { rateLimitClass: 'free' }, (c) =>
    textResponse(c, robotsText(site), TEXT),
  );

  servePage(app, DISCOVERY_ROUTES.security, { rateLimitClass: 'free' }, (c) => {
    const { securityContacts: contacts = [] } = config;
    if (contacts.length > 0) return textResponse(c, securityText(site, { contacts, now: clock() }), TEXT);
    throw new KrmhubError('not-found', 'this registry names no security contact', {
      hint: 'The operator can set KRMHUB_SECURITY_CONTACT.',
    });
  });
}

const TEXT = { mediaType: 'text/plain; charset=utf-8', cacheControl: CACHE_SHORT };
const XML = { mediaType: 'application/xml; charset=utf-8', cacheControl: CACHE_SHORT };

/** Throws `not-found` for a document whose URLs must be absolute. */
function refuseUnknownUrl({ publicUrl }: Site): void {
  if (publicUrl !== undefined) return;
  throw new KrmhubError('not-found', 'the public URL of this registry is not set', {
    hint: 'The operator can set KRMHUB_PUBLIC_URL.',
  });
}
