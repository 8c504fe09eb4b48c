/**
 * The pages of the HTTP API, rendered from its OpenAPI document: a list of all operations, and one page for the
 * operations of each tag and for the schemas.
 *
 * @module
 */

import { createRoute, z } from '@hono/zod-openapi';
import { ROUTES } from '@krmhub/api/routes';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryApp } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { API_PAGE, API_SCHEMAS } from '../addresses.js';
import { derivedPageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import { API_REFERENCE } from './reference-document.js';

const responses = { 200: { description: 'The reference of the HTTP API' } };

export const REFERENCE_ROUTES = {
  apiReference: createRoute({ method: 'get', path: API_PAGE, responses }),
  apiReferencePart: createRoute({
    method: 'get',
    path: `${API_PAGE}/{part}`,
    request: { params: z.object({ part: z.string() }) },
    responses,
  }),
} as const;

const PARTS = new Set<string>([...Object.values(ROUTES).flatMap(({ tags }) => tags), API_SCHEMAS]);

export interface ReferenceDeps {
  derived: DerivedDocuments;
}

export function referenceRoutes(app: RegistryApp, { derived }: ReferenceDeps): void {
  servePage(app, REFERENCE_ROUTES.apiReference, {}, (c) =>
    derivedPageResponse(c, derived, API_REFERENCE, { part: '', isIndexed: true }),
  );
  servePage(app, REFERENCE_ROUTES.apiReferencePart, {}, (c, { params: { part } }) => {
    if (!PARTS.has(part)) {
      throw new KrmhubError('not-found', `the HTTP API has no part ${part}`, {
        hint: `See ${API_PAGE} for all operations.`,
      });
    }
    return derivedPageResponse(c, derived, API_REFERENCE, { part, isIndexed: true });
  });
}
