/**
 * The page of the HTTP API, rendered from its OpenAPI document.
 *
 * @module
 */

import { createRoute } from '@hono/zod-openapi';
import type { RegistryApp } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { API_PAGE } from '../addresses.js';
import { derivedPageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import { API_REFERENCE } from './reference-document.js';

export const REFERENCE_ROUTES = {
  apiReference: createRoute({
    method: 'get',
    path: API_PAGE,
    responses: { 200: { description: 'The reference of the HTTP API' } },
  }),
} as const;

export interface ReferenceDeps {
  derived: DerivedDocuments;
}

export function referenceRoutes(app: RegistryApp, { derived }: ReferenceDeps): void {
  servePage(app, REFERENCE_ROUTES.apiReference, {}, (c) =>
    derivedPageResponse(c, derived, API_REFERENCE, { isIndexed: true }),
  );
}
