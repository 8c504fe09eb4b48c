import { createRoute, z } from '@hono/zod-openapi';
import { SnapshotReport } from './document-model.js';
import { Source, SourceList } from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, notModified, text, writeErrors } from './route-responses.js';

const catalogParameters = z.object({ name: parameters.CatalogName });
const sourceParameters = catalogParameters.extend({ source: parameters.SourceName });

/** Upstream catalogs that recipes use as sources. */
export const SOURCE_ROUTES = {
  sources: createRoute({
    method: 'get',
    path: PATHS.sources,
    operationId: 'listSources',
    tags: ['sources'],
    summary: 'List the sources of catalogs and their state',
    request: { query: z.object({ catalog: parameters.CatalogName.optional() }) },
    responses: {
      200: json('The sources, sorted by catalog and name', SourceList),
      ...errorResponses('invalid-request', 'not-found'),
    },
  }),
  refreshSource: createRoute({
    method: 'post',
    path: PATHS.refreshSource,
    operationId: 'refreshSource',
    tags: ['sources'],
    summary: 'Sync a source now, and wait for the sync and the build of the catalog',
    ...bearer,
    request: { params: sourceParameters },
    responses: {
      200: json('The state of the source, also if the sync failed', Source),
      ...writeErrors('not-found'),
    },
  }),
  sourceCopy: createRoute({
    method: 'get',
    path: PATHS.sourceCopy,
    operationId: 'getSourceCopy',
    tags: ['sources'],
    summary: 'Get the exact bytes of the last good copy of a source',
    ...bearer,
    request: { params: sourceParameters },
    responses: {
      200: text('The exact bytes. The ETag is their digest', 'application/octet-stream'),
      ...notModified,
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  catalogReport: createRoute({
    method: 'get',
    path: PATHS.catalogReport,
    operationId: 'getCatalogReport',
    tags: ['catalogs'],
    summary: 'Get the functions that a catalog omits now, and why, with the current state of its sources',
    request: { params: catalogParameters },
    responses: {
      200: json(
        'The `report.json` of a snapshot that is built now. The serial is the serial of the newest snapshot, or 0',
        SnapshotReport,
      ),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found'),
    },
  }),
} as const;
