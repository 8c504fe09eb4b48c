import { createRoute, z } from '@hono/zod-openapi';
import { SnapshotReport } from './document-model.js';
import { Source, SourceList } from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, notModified, text } from './route-responses.js';

const catalogParameters = z.object({ name: parameters.CatalogName });
const sourceParameters = catalogParameters.extend({ source: parameters.SourceName });

/** Catalogs elsewhere that recipes take from, and what catalogs make of them. */
export const SOURCE_ROUTES = {
  sources: createRoute({
    method: 'get',
    path: PATHS.sources,
    operationId: 'listSources',
    tags: ['sources'],
    summary: 'Catalogs elsewhere that recipes take from, and how they are',
    request: { query: z.object({ catalog: parameters.CatalogName.optional() }) },
    responses: {
      200: json('The sources, by catalog and name', SourceList),
      ...errorResponses('invalid-request', 'not-found'),
    },
  }),
  refreshSource: createRoute({
    method: 'post',
    path: PATHS.refreshSource,
    operationId: 'refreshSource',
    tags: ['sources'],
    summary: 'Ask a source now, and wait for it and for the catalog to be cut',
    ...bearer,
    request: { params: sourceParameters },
    responses: {
      200: json('The source as it was found, whether or not the look succeeded', Source),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'unavailable'),
    },
  }),
  sourceCopy: createRoute({
    method: 'get',
    path: PATHS.sourceCopy,
    operationId: 'getSourceCopy',
    tags: ['sources'],
    summary: 'The exact bytes of the last good copy of a source',
    ...bearer,
    request: { params: sourceParameters },
    responses: {
      200: text('The bytes; the ETag is their digest', 'application/octet-stream'),
      ...notModified,
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  catalogReport: createRoute({
    method: 'get',
    path: PATHS.catalogReport,
    operationId: 'getCatalogReport',
    tags: ['catalogs'],
    summary: 'What the newest state of a catalog leaves out, and why, with its sources as they are now',
    request: { params: catalogParameters },
    responses: {
      200: json(
        'As `report.json` of the next snapshot would be, should nothing else happen; the serial is that of the newest one, 0 for none',
        SnapshotReport,
      ),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found'),
    },
  }),
} as const;
