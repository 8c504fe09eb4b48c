import { createRoute, z } from '@hono/zod-openapi';
import {
  ApplyResult,
  CatalogDetail,
  CatalogList,
  CreatedToken,
  CreateTokenRequest,
  EventPage,
  FunctionDetail,
  Health,
  Problem,
  PublishResult,
  Readiness,
  ReasonRequest,
  Release,
  SearchResult,
  SnapshotList,
  Token,
  TokenList,
} from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { HTTP_STATUS, PROBLEM_MEDIA_TYPE } from './problem.js';

/**
 * Every operation of the HTTP API: the server mounts these, the OpenAPI document is made from them.
 * Query parameters that an operation does not name are refused.
 */

const DESCRIPTIONS = {
  'invalid-request': 'A parameter, a header or the body is not as described',
  'invalid-document': 'The document has errors; `diagnostics` names each',
  unauthorized: 'The token is missing, malformed, unknown, revoked or expired',
  forbidden: 'The token lacks the scope or the group',
  'not-found': 'There is nothing of this name',
  conflict: 'The same name is taken by something else',
  'too-large': 'The body is larger than the limit',
  'unsupported-media-type': 'The body is of another media type',
  unavailable: 'Try again after the seconds that Retry-After names',
} as const;

type Failure = keyof typeof DESCRIPTIONS;

const problemContent = { [PROBLEM_MEDIA_TYPE]: { schema: Problem } };

function failures(...codes: Failure[]) {
  const all = { ...DESCRIPTIONS };
  return {
    ...Object.fromEntries(
      codes.map((code) => [HTTP_STATUS[code], { description: all[code], content: problemContent }]),
    ),
    default: { description: 'Any other failure', content: problemContent },
  };
}

const json = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { 'application/json': { schema } },
});
const text = (description: string, ...mediaTypes: string[]) => ({
  description,
  content: Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: z.string() }])),
});

const bearer = { security: [{ bearer: [] }] };
const functionParameters = z.object({ group: parameters.Group, kind: parameters.Kind });
const releaseParameters = functionParameters.extend({ release: parameters.ReleaseName });
const catalogParameters = z.object({ name: parameters.CatalogName });
const snapshotParameters = catalogParameters.extend({ snapshot: parameters.SnapshotReference });
const notModified = { 304: { description: 'The client has it already (If-None-Match)' } };

const definitionSchema = z.string().openapi({ description: 'The exact bytes of a KRMFunctionDefinition' });
const publishBody = {
  required: true,
  content: {
    'application/yaml': { schema: definitionSchema },
    'application/json': { schema: z.looseObject({}).openapi({ description: 'A KRMFunctionDefinition' }) },
    'multipart/form-data': {
      schema: z.object({
        definition: z
          .string()
          .openapi({ format: 'binary', description: 'A file of application/yaml or application/json' }),
        readme: z.string().optional().openapi({ format: 'binary', description: 'A file of Markdown, UTF-8' }),
      }),
    },
  },
};

const releaseChange = (verb: 'yank' | 'unyank' | 'deprecate', summary: string, reasonNeeded: boolean) =>
  createRoute({
    method: 'post',
    path: PATHS[verb],
    operationId: `${verb}Release`,
    tags: ['releases'],
    summary,
    ...bearer,
    request: {
      params: releaseParameters,
      body: { required: reasonNeeded, content: { 'application/json': { schema: ReasonRequest } } },
    },
    responses: {
      200: json('The release as it is now', Release),
      ...failures('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'unavailable'),
    },
  });

/** One form of a catalog: the newest snapshot's, or that of the snapshot which the path names. */
const catalogForm = (
  name: 'catalogYaml' | 'catalogJson' | 'snapshotCatalogYaml' | 'snapshotCatalogJson',
  summary: string,
) =>
  createRoute({
    method: 'get',
    path: PATHS[name],
    operationId: name,
    tags: ['catalogs'],
    summary,
    request: {
      params: name.startsWith('snapshot') ? snapshotParameters : catalogParameters,
      query: parameters.CatalogFormParameters,
    },
    responses: {
      200: text(
        'The catalog; the ETag is its digest, with a suffix for gzip and br',
        name.endsWith('Yaml') ? 'application/yaml' : 'application/json',
      ),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  });

export const ROUTES = {
  search: createRoute({
    method: 'get',
    path: PATHS.functions,
    operationId: 'searchFunctions',
    tags: ['functions'],
    summary: 'Search functions',
    request: { query: parameters.SearchParameters },
    responses: { 200: json('A page of functions, best first', SearchResult), ...failures('invalid-request') },
  }),
  function: createRoute({
    method: 'get',
    path: PATHS.function,
    operationId: 'getFunction',
    tags: ['functions'],
    summary: 'A function with its releases',
    request: { params: functionParameters },
    responses: { 200: json('The function', FunctionDetail), ...failures('invalid-request', 'not-found') },
  }),
  release: createRoute({
    method: 'get',
    path: PATHS.release,
    operationId: 'getRelease',
    tags: ['releases'],
    summary: 'A release with its definition in normal form',
    request: { params: releaseParameters },
    responses: { 200: json('The release', Release), ...failures('invalid-request', 'not-found') },
  }),
  publish: createRoute({
    method: 'put',
    path: PATHS.release,
    operationId: 'publishRelease',
    tags: ['releases'],
    summary: 'Publish a release; it can never be changed afterwards',
    ...bearer,
    request: { params: releaseParameters, query: parameters.PublishParameters, body: publishBody },
    responses: {
      200: json('The registry has the same bytes already, or this was a dry run', PublishResult),
      201: json('Published', PublishResult),
      ...failures(
        'invalid-request',
        'invalid-document',
        'unauthorized',
        'forbidden',
        'conflict',
        'too-large',
        'unsupported-media-type',
        'unavailable',
      ),
    },
  }),
  definition: createRoute({
    method: 'get',
    path: PATHS.definition,
    operationId: 'getDefinition',
    tags: ['releases'],
    summary: 'The definition, byte for byte as published',
    request: { params: releaseParameters },
    responses: {
      200: text('The definition; the ETag is its digest', 'application/yaml', 'application/json'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  readme: createRoute({
    method: 'get',
    path: PATHS.readme,
    operationId: 'getReadme',
    tags: ['releases'],
    summary: 'The README of a release',
    request: { params: releaseParameters },
    responses: {
      200: text('Markdown', 'text/markdown'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  yank: releaseChange('yank', 'Take a release out of catalogs; its bytes stay', true),
  unyank: releaseChange('unyank', 'Put a yanked release back', false),
  deprecate: releaseChange('deprecate', 'Advise against a release; catalogs keep it', true),
  events: createRoute({
    method: 'get',
    path: PATHS.events,
    operationId: 'listEvents',
    tags: ['events'],
    summary: 'What happened, in order',
    request: { query: parameters.EventParameters },
    responses: { 200: json('A page of events, oldest first', EventPage), ...failures('invalid-request') },
  }),
  whoami: createRoute({
    method: 'get',
    path: PATHS.whoami,
    operationId: 'whoami',
    tags: ['tokens'],
    summary: 'The token of this request',
    ...bearer,
    responses: { 200: json('The token', Token), ...failures('unauthorized') },
  }),
  listTokens: createRoute({
    method: 'get',
    path: PATHS.tokens,
    operationId: 'listTokens',
    tags: ['tokens'],
    summary: 'Every token, without its secret',
    ...bearer,
    responses: { 200: json('The tokens', TokenList), ...failures('unauthorized', 'forbidden') },
  }),
  createToken: createRoute({
    method: 'post',
    path: PATHS.tokens,
    operationId: 'createToken',
    tags: ['tokens'],
    summary: 'Create a token; its secret is shown once',
    ...bearer,
    request: { body: { required: true, content: { 'application/json': { schema: CreateTokenRequest } } } },
    responses: {
      201: json('The token with its secret', CreatedToken),
      ...failures('invalid-request', 'unauthorized', 'forbidden'),
    },
  }),
  revokeToken: createRoute({
    method: 'delete',
    path: PATHS.token,
    operationId: 'revokeToken',
    tags: ['tokens'],
    summary: 'Revoke a token',
    ...bearer,
    request: { params: z.object({ id: parameters.TokenId }) },
    responses: {
      200: json('The token as it is now', Token),
      ...failures('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  catalogs: createRoute({
    method: 'get',
    path: PATHS.catalogs,
    operationId: 'listCatalogs',
    tags: ['catalogs'],
    summary: 'Every catalog',
    responses: { 200: json('The catalogs, by name', CatalogList), ...failures() },
  }),
  catalog: createRoute({
    method: 'get',
    path: PATHS.catalog,
    operationId: 'getCatalog',
    tags: ['catalogs'],
    summary: 'A catalog and its recipe',
    request: { params: catalogParameters },
    responses: { 200: json('The catalog', CatalogDetail), ...failures('invalid-request', 'not-found') },
  }),
  applyCatalog: createRoute({
    method: 'put',
    path: PATHS.catalog,
    operationId: 'applyCatalog',
    tags: ['catalogs'],
    summary: 'Make a catalog, or give it another recipe',
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
      200: json('The recipe was changed, or is the same', ApplyResult),
      201: json('The catalog is new', ApplyResult),
      ...failures(
        'invalid-request',
        'invalid-document',
        'unauthorized',
        'forbidden',
        'conflict',
        'too-large',
        'unsupported-media-type',
        'unavailable',
      ),
    },
  }),
  cut: createRoute({
    method: 'post',
    path: PATHS.cut,
    operationId: 'cutCatalog',
    tags: ['catalogs'],
    summary: 'Cut a catalog now and wait for it',
    ...bearer,
    request: { params: catalogParameters },
    responses: {
      200: json('The catalog with its newest snapshot', CatalogDetail),
      ...failures('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'unavailable'),
    },
  }),
  catalogYaml: catalogForm('catalogYaml', 'The newest snapshot of a catalog, YAML'),
  catalogJson: catalogForm('catalogJson', 'The newest snapshot of a catalog, JSON'),
  catalogEntry: createRoute({
    method: 'get',
    path: PATHS.catalogEntry,
    operationId: 'catalogEntry',
    tags: ['catalogs'],
    summary: 'One entry of the newest snapshot as a catalog of its own',
    request: {
      params: catalogParameters.extend({ group: parameters.Group, kind: parameters.Kind }),
      query: parameters.CatalogFormParameters,
    },
    responses: {
      200: text('A catalog of one function', 'application/yaml'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  snapshots: createRoute({
    method: 'get',
    path: PATHS.snapshots,
    operationId: 'listSnapshots',
    tags: ['catalogs'],
    summary: 'The history of a catalog',
    request: { params: catalogParameters, query: parameters.SnapshotParameters },
    responses: {
      200: json('Snapshots, newest first', SnapshotList),
      ...failures('invalid-request', 'not-found'),
    },
  }),
  snapshotCatalogYaml: catalogForm('snapshotCatalogYaml', 'A snapshot, YAML; its bytes never change'),
  snapshotCatalogJson: catalogForm('snapshotCatalogJson', 'A snapshot, JSON; its bytes never change'),
  snapshotJson: createRoute({
    method: 'get',
    path: PATHS.snapshotJson,
    operationId: 'snapshotJson',
    tags: ['catalogs'],
    summary: 'What a snapshot holds, with the source, release and digest of every entry',
    request: { params: snapshotParameters },
    responses: {
      200: text('A Snapshot document', 'application/json'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  snapshotReport: createRoute({
    method: 'get',
    path: PATHS.snapshotReport,
    operationId: 'snapshotReport',
    tags: ['catalogs'],
    summary: 'What a snapshot left out, and why',
    request: { params: snapshotParameters },
    responses: {
      200: text('A SnapshotReport document', 'application/json'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  functionConfigSchema: createRoute({
    method: 'get',
    path: PATHS.functionConfigSchema,
    operationId: 'functionConfigSchema',
    tags: ['functions'],
    summary: 'JSON Schema of the functionConfig, for editors',
    request: {
      params: z.object({ group: parameters.Group, version: parameters.ApiVersion, kind: parameters.Kind }),
    },
    responses: {
      200: text('A JSON Schema', 'application/schema+json'),
      ...notModified,
      ...failures('invalid-request', 'not-found'),
    },
  }),
  openapi: createRoute({
    method: 'get',
    path: PATHS.openapi,
    operationId: 'openapi',
    tags: ['operations'],
    summary: 'This document',
    responses: { 200: text('OpenAPI 3.1', 'application/json') },
  }),
  healthz: createRoute({
    method: 'get',
    path: PATHS.healthz,
    operationId: 'healthz',
    tags: ['operations'],
    summary: 'Whether the process answers',
    responses: { 200: json('It does', Health) },
  }),
  readyz: createRoute({
    method: 'get',
    path: PATHS.readyz,
    operationId: 'readyz',
    tags: ['operations'],
    summary: 'Whether the registry can read, write and cut catalogs',
    responses: { 200: json('It can', Readiness), 503: json('`checks` names what fails', Readiness) },
  }),
  metrics: createRoute({
    method: 'get',
    path: PATHS.metrics,
    operationId: 'metrics',
    tags: ['operations'],
    summary: 'Metrics in the text format of Prometheus',
    responses: { 200: text('Metrics', 'text/plain') },
  }),
} as const;

export type RouteName = keyof typeof ROUTES;
