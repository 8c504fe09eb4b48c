import { createRoute, z } from '@hono/zod-openapi';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { DOCS } from '../addresses.js';
import { derivedPageResponse, pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { DOCS_PAGE, DOCS_SEARCH, docsHead, ownDocs } from './docs-document.js';
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
      throw new KrmhubError('not-found', `page ${page} of the documentation not found`, {
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
  servePage(app, DOCS_ROUTES.docsPage, {}, (c, { params }) => respond(c, params.page));
  servePage(app, DOCS_ROUTES.docsSection, {}, (c, { params }) =>
    respond(c, `${params.page}/${params.section}`),
  );
}
