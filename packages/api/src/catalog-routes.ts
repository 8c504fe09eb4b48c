import { createRoute, z } from '@hono/zod-openapi';
import { ProfileReport, Snapshot, SnapshotReport } from './document-model.js';
import { CatalogInputs, CatalogInputsEntry } from './export-model.js';
import { CatalogFunction } from './function-model.js';
import {
  ApplyResult,
  CatalogDetail,
  CatalogList,
  CatalogReleases,
  CatalogReleasesRequest,
  CatalogTombstone,
  ReasonRequest,
  RestoreResult,
  SnapshotList,
} from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, notModified, text, writeErrors } from './route-responses.js';

const catalogParameters = z.object({ name: parameters.CatalogName });
const snapshotParameters = catalogParameters.extend({ snapshot: parameters.SnapshotReference });

/** A rendition of a catalog: of the newest snapshot, or of the snapshot in the path. */
const catalogRendition = <Params extends z.ZodObject, Query extends z.ZodObject>(
  params: Params,
  query: Query,
  name: 'catalogYaml' | 'catalogJson' | 'snapshotCatalogYaml' | 'snapshotCatalogJson',
  summary: string,
) =>
  createRoute({
    method: 'get',
    path: PATHS[name],
    operationId: name,
    tags: ['catalogs'],
    summary,
    request: { params, query },
    responses: {
      200: text(
        'The catalog. The ETag is its digest, with a suffix if compressed with gzip or br',
        name.endsWith('Yaml') ? 'application/yaml' : 'application/json',
      ),
      ...notModified,
      ...(name === 'snapshotCatalogJson'
        ? errorResponses('invalid-request', 'not-found', 'gone')
        : errorResponses('invalid-request', 'not-found', 'gone', 'unavailable')),
    },
  });

/** Catalogs, their recipes and their snapshots. */
export const CATALOG_ROUTES = {
  catalogs: createRoute({
    method: 'get',
    path: PATHS.catalogs,
    operationId: 'listCatalogs',
    tags: ['catalogs'],
    summary: 'List catalogs',
    responses: { 200: json('The catalogs, sorted by name', CatalogList), ...errorResponses() },
  }),
  catalog: createRoute({
    method: 'get',
    path: PATHS.catalog,
    operationId: 'getCatalog',
    tags: ['catalogs'],
    summary: 'Get a catalog and its recipe',
    request: { params: catalogParameters },
    responses: {
      200: json('The catalog', CatalogDetail),
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  catalogReleases: createRoute({
    method: 'post',
    path: PATHS.catalogReleases,
    operationId: 'catalogReleases',
    tags: ['catalogs'],
    summary: 'List the releases of functions in the snapshots of a catalog',
    request: {
      params: catalogParameters,
      body: { required: true, content: { 'application/json': { schema: CatalogReleasesRequest } } },
    },
    responses: {
      200: json('The functions, in the order of the request', CatalogReleases),
      ...errorResponses('invalid-request', 'not-found', 'gone', 'too-large'),
    },
  }),
  applyCatalog: createRoute({
    method: 'put',
    path: PATHS.catalog,
    operationId: 'applyCatalog',
    tags: ['catalogs'],
    summary: 'Create a catalog, or update its recipe',
    ...bearer,
    request: {
      params: catalogParameters,
      body: {
        required: true,
        content: {
          'application/yaml': {
            schema: z.string().openapi({ description: 'The exact text of a CatalogRecipe' }),
          },
        },
      },
    },
    responses: {
      200: json('The recipe was updated, or is unchanged', ApplyResult),
      201: json('The catalog was created', ApplyResult),
      ...writeErrors('invalid-document', 'conflict', 'too-large', 'unsupported-media-type'),
    },
  }),
  deleteCatalog: createRoute({
    method: 'post',
    path: PATHS.deleteCatalog,
    operationId: 'deleteCatalog',
    tags: ['catalogs'],
    summary: 'Delete a catalog. Its name stays reserved, and it can be restored for a period',
    ...bearer,
    request: {
      params: catalogParameters,
      body: { required: true, content: { 'application/json': { schema: ReasonRequest } } },
    },
    responses: {
      200: json('The tombstone', CatalogTombstone),
      ...writeErrors('not-found', 'conflict'),
    },
  }),
  restoreCatalog: createRoute({
    method: 'post',
    path: PATHS.restoreCatalog,
    operationId: 'restoreCatalog',
    tags: ['catalogs'],
    summary: 'Restore a deleted catalog',
    ...bearer,
    request: { params: catalogParameters },
    responses: {
      200: json('The catalog', RestoreResult),
      ...writeErrors('not-found', 'gone'),
    },
  }),
  cut: createRoute({
    method: 'post',
    path: PATHS.cut,
    operationId: 'cutCatalog',
    tags: ['catalogs'],
    summary: 'Build a snapshot of a catalog now and wait for it',
    ...bearer,
    request: { params: catalogParameters },
    responses: {
      200: json('The catalog with its newest snapshot', CatalogDetail),
      ...writeErrors('not-found', 'gone'),
    },
  }),
  catalogInputs: createRoute({
    method: 'get',
    path: PATHS.catalogInputs,
    operationId: 'catalogInputs',
    tags: ['catalogs'],
    summary: 'Export the inputs of a catalog, to reproduce its build on another machine',
    ...bearer,
    request: { params: catalogParameters },
    responses: {
      200: {
        description: 'The first line is a CatalogInputs. Each further line is a CatalogInputsEntry',
        content: { 'application/x-ndjson': { schema: z.union([CatalogInputs, CatalogInputsEntry]) } },
      },
      ...writeErrors('not-found', 'gone'),
    },
  }),
  catalogYaml: catalogRendition(
    catalogParameters,
    parameters.CatalogProfileParameters,
    'catalogYaml',
    'Get the newest snapshot of a catalog as YAML, or in the dialect of another tool',
  ),
  catalogJson: catalogRendition(
    catalogParameters,
    parameters.CatalogRenditionParameters,
    'catalogJson',
    'Get the newest snapshot of a catalog as JSON',
  ),
  catalogEntry: createRoute({
    method: 'get',
    path: PATHS.catalogEntry,
    operationId: 'catalogEntry',
    tags: ['catalogs'],
    summary: 'Get one entry of the newest snapshot as a catalog',
    request: {
      params: catalogParameters.extend({ group: parameters.Group, kind: parameters.Kind }),
      query: parameters.CatalogProfileParameters,
    },
    responses: {
      200: text('A catalog with one function', 'application/yaml'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone', 'unavailable'),
    },
  }),
  catalogFunction: createRoute({
    method: 'get',
    path: PATHS.catalogFunction,
    operationId: 'getCatalogFunction',
    tags: ['catalogs'],
    summary: 'Get one entry of the newest snapshot, with the release and the source of each API version',
    request: { params: catalogParameters.extend({ group: parameters.Group, kind: parameters.Kind }) },
    responses: {
      200: json('The entry', CatalogFunction),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone', 'unavailable'),
    },
  }),
  snapshots: createRoute({
    method: 'get',
    path: PATHS.snapshots,
    operationId: 'listSnapshots',
    tags: ['catalogs'],
    summary: 'List the snapshots of a catalog',
    request: { params: catalogParameters, query: parameters.SnapshotParameters },
    responses: {
      200: json('Snapshots, newest first', SnapshotList),
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  snapshotCatalogYaml: catalogRendition(
    snapshotParameters,
    parameters.CatalogProfileParameters,
    'snapshotCatalogYaml',
    'Get a snapshot as immutable YAML, or in the dialect of another tool as this version renders it',
  ),
  snapshotCatalogJson: catalogRendition(
    snapshotParameters,
    parameters.CatalogRenditionParameters,
    'snapshotCatalogJson',
    'Get a snapshot as immutable JSON',
  ),
  snapshotJson: createRoute({
    method: 'get',
    path: PATHS.snapshotJson,
    operationId: 'snapshotJson',
    tags: ['catalogs'],
    summary: 'List the entries of a snapshot, with source, release, and digest',
    request: { params: snapshotParameters },
    responses: {
      200: json('A Snapshot document', Snapshot),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  snapshotBundle: createRoute({
    method: 'get',
    path: PATHS.snapshotBundle,
    operationId: 'snapshotBundle',
    tags: ['catalogs'],
    summary:
      "Get the registry's signature of a snapshot. The registry renews it for the newest snapshot before it expires",
    request: { params: snapshotParameters },
    responses: {
      200: text('A sigstore bundle', 'application/vnd.dev.sigstore.bundle.v0.3+json'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  catalogBundle: createRoute({
    method: 'get',
    path: PATHS.catalogBundle,
    operationId: 'catalogBundle',
    tags: ['catalogs'],
    summary:
      "Get the registry's signature of the newest snapshot of a catalog. The signature contains the serial",
    request: { params: catalogParameters },
    responses: {
      200: text('A sigstore bundle', 'application/vnd.dev.sigstore.bundle.v0.3+json'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone', 'unavailable'),
    },
  }),
  snapshotReport: createRoute({
    method: 'get',
    path: PATHS.snapshotReport,
    operationId: 'snapshotReport',
    tags: ['catalogs'],
    summary: 'Get the functions that a snapshot omits, and why',
    request: { params: snapshotParameters },
    responses: {
      200: json('A SnapshotReport document', SnapshotReport),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  snapshotProfile: createRoute({
    method: 'get',
    path: PATHS.snapshotProfile,
    operationId: 'snapshotProfile',
    tags: ['catalogs'],
    summary: 'Get the fields of a snapshot that a profile does not support, and the digest of the profile',
    request: { params: snapshotParameters.extend({ profile: parameters.ProfileName }) },
    responses: {
      200: json('A ProfileReport document', ProfileReport),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone', 'unavailable'),
    },
  }),
} as const;
