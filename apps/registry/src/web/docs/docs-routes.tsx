import { createRoute, z } from '@hono/zod-openapi';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { KrmhubError } from '@krmhub/schema';
import { CACHE_REVALIDATE } from '../../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { DOCS, DOCS_SAMPLES_FILE } from '../addresses.js';
import { derivedPageResponse, pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { DOCS_PAGE, DOCS_SAMPLES, DOCS_SEARCH, docsHead, ownDocs } from './docs-document.js';
import { DocsFrame, DocsHits } from './docs-page.js';
import type { DocsHit } from './search-docs.js';

const found = { 200: { description: 'A page of the documentation' } };
const name = z.string().max(REQUEST_LIMITS.maxQueryLength);

export const DOCS_ROUTES = {
  docs: createRoute({
    method: 'get',
    path: DOCS,
    request: { query: z.object({ q: z.string().max(REQUEST_LIMITS.maxQueryLength).optional() }) },
    responses: found,
  }),
  docsSamples: createRoute({
    method: 'get',
    path: DOCS_SAMPLES_FILE,
    responses: { 200: { description: 'An archive of the files that the documentation names' } },
  }),
  docsPage: createRoute({
    method: 'get',
    path: `${DOCS}/{page}`,
    request: { params: z.object({ page: name }) },
    responses: found,
  }),
  docsSection: createRoute({
    method: 'get',
    path: `${DOCS}/{page}/{section}`,
    request: { params: z.object({ page: name, section: name }) },
    responses: found,
  }),
} as const;

export interface DocsDeps {
  derived: DerivedDocuments;
  site: Site;
}

/** Serves the documentation of this version of krmhub. */
export function docsRoutes(app: RegistryApp, { derived, site }: DocsDeps): void {
  const respond = (c: RegistryContext, page: string): Promise<Response> => {
    if (!ownDocs().pages.has(page)) {
      throw new KrmhubError('not-found', `the documentation has no page ${page}`, {
        hint: `See ${DOCS} for all pages.`,
      });
    }
    return derivedPageResponse(c, derived, DOCS_PAGE, { page, isIndexed: true });
  };
  servePage(app, DOCS_ROUTES.docs, {}, async (c, { query: { q = '' } }) => {
    const words = q.trim();
    if (words === '') return respond(c, '');
    const hits = await derived.bytes(c, DOCS_SEARCH, { words });
    return pageResponse(c, site, {
      head: { ...docsHead(`Search: ${words}`), path: DOCS, isIndexed: false },
      body: (
        <DocsFrame docs={ownDocs()} words={words}>
          <DocsHits words={words} hits={JSON.parse(new TextDecoder().decode(hits)) as DocsHit[]} />
        </DocsFrame>
      ),
    });
  });
  servePage(app, DOCS_ROUTES.docsSamples, {}, (c) =>
    derived.respondWithDigest(
      c,
      DOCS_SAMPLES,
      {},
      { mediaType: 'application/gzip', cacheControl: CACHE_REVALIDATE },
    ),
  );
  servePage(app, DOCS_ROUTES.docsPage, {}, (c, { params }) => respond(c, params.page));
  servePage(app, DOCS_ROUTES.docsSection, {}, (c, { params }) =>
    respond(c, `${params.page}/${params.section}`),
  );
}
