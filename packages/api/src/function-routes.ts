import { createRoute, z } from '@hono/zod-openapi';
import { BUNDLE_MEDIA_TYPE } from '@krmhub/schema';
import { ExportedFunction } from './export-model.js';
import {
  BundleList,
  DeprecateRequest,
  FunctionDetail,
  PublishResult,
  ReasonRequest,
  Release,
  SearchResult,
  TakedownRequest,
  TakedownResult,
} from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, notModified, text, writeErrors } from './route-responses.js';

const functionParameters = z.object({ group: parameters.Group, kind: parameters.Kind });
const releaseParameters = functionParameters.extend({ release: parameters.ReleaseName });

const definitionSchema = z.string().openapi({ description: 'The exact bytes of a KRMFunctionDefinition' });
const publishBody = {
  required: true,
  content: {
    'application/yaml': { schema: definitionSchema },
    'application/json': { schema: z.looseObject({}).openapi({ description: 'A KRMFunctionDefinition' }) },
    'multipart/form-data': {
      schema: z.object({
        definition: z.string().openapi({ format: 'binary', description: 'A YAML or JSON file' }),
        readme: z.string().optional().openapi({ format: 'binary', description: 'A Markdown file in UTF-8' }),
        notes: z.string().optional().openapi({
          format: 'binary',
          description: 'What is new in the release: a Markdown file in UTF-8. No signature covers it',
        }),
        bundle: z
          .array(z.string().openapi({ format: 'binary' }))
          .optional()
          .openapi({ description: 'Sigstore bundles for the release, one per file' }),
      }),
    },
  },
};

const releaseChange = (
  verb: 'yank' | 'unyank' | 'deprecate' | 'undeprecate',
  summary: string,
  isBodyNeeded: boolean,
  schema: typeof ReasonRequest | typeof DeprecateRequest = ReasonRequest,
) =>
  createRoute({
    method: 'post',
    path: PATHS[verb],
    operationId: `${verb}Release`,
    tags: ['releases'],
    summary,
    ...bearer,
    request: {
      params: releaseParameters,
      body: { required: isBodyNeeded, content: { 'application/json': { schema } } },
    },
    responses: {
      200: json('The changed release', Release),
      ...writeErrors('not-found', 'gone'),
    },
  });

/** Functions and their releases. */
export const FUNCTION_ROUTES = {
  search: createRoute({
    method: 'get',
    path: PATHS.functions,
    operationId: 'searchFunctions',
    tags: ['functions'],
    summary: 'Search functions',
    request: { query: parameters.SearchParameters },
    responses: {
      200: json('A page of functions', SearchResult),
      ...errorResponses('invalid-request'),
    },
  }),
  functionsExport: createRoute({
    method: 'get',
    path: PATHS.functionsExport,
    operationId: 'exportFunctions',
    tags: ['functions'],
    summary: 'Export all functions and releases, for mirrors and for catalog builds on other machines',
    responses: {
      200: {
        description: 'One function per line, by group and kind in code unit order',
        content: { 'application/x-ndjson': { schema: ExportedFunction } },
      },
      ...errorResponses('unavailable'),
    },
  }),
  function: createRoute({
    method: 'get',
    path: PATHS.function,
    operationId: 'getFunction',
    tags: ['functions'],
    summary: 'Get a function and its releases',
    request: { params: functionParameters },
    responses: {
      200: json('The function', FunctionDetail),
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  functionConfigSchema: createRoute({
    method: 'get',
    path: PATHS.functionConfigSchema,
    operationId: 'functionConfigSchema',
    tags: ['functions'],
    summary: 'Get the JSON Schema of the functionConfig, for editors',
    request: {
      params: z.object({ group: parameters.Group, version: parameters.ApiVersion, kind: parameters.Kind }),
    },
    responses: {
      200: text('A JSON Schema', 'application/schema+json'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  release: createRoute({
    method: 'get',
    path: PATHS.release,
    operationId: 'getRelease',
    tags: ['releases'],
    summary: 'Get a release and its definition in normal form',
    request: { params: releaseParameters },
    responses: {
      200: json('The release', Release),
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  publish: createRoute({
    method: 'put',
    path: PATHS.release,
    operationId: 'publishRelease',
    tags: ['releases'],
    summary: 'Publish an immutable release',
    ...bearer,
    request: { params: releaseParameters, query: parameters.PublishParameters, body: publishBody },
    responses: {
      200: json('The release already exists with the same bytes, or this was a dry run', PublishResult),
      201: json('Published', PublishResult),
      ...writeErrors('invalid-document', 'conflict', 'too-large', 'unsupported-media-type'),
    },
  }),
  definition: createRoute({
    method: 'get',
    path: PATHS.definition,
    operationId: 'getDefinition',
    tags: ['releases'],
    summary: 'Get the exact bytes of the definition',
    request: { params: releaseParameters },
    responses: {
      200: text('The definition. The ETag is its digest', 'application/yaml', 'application/json'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  readme: createRoute({
    method: 'get',
    path: PATHS.readme,
    operationId: 'getReadme',
    tags: ['releases'],
    summary: 'Get the README of a release',
    request: { params: releaseParameters },
    responses: {
      200: text('Markdown', 'text/markdown'),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  bundles: createRoute({
    method: 'get',
    path: PATHS.bundles,
    operationId: 'listBundles',
    tags: ['releases'],
    summary: 'List signatures and attestations of a release, with the verdict of the signing policies',
    request: { params: releaseParameters },
    responses: {
      200: json('The bundles', BundleList),
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  bundle: createRoute({
    method: 'get',
    path: PATHS.bundle,
    operationId: 'getBundle',
    tags: ['releases'],
    summary: 'Get the exact bytes of a bundle of a release',
    request: { params: releaseParameters.extend({ digest: parameters.BundleDigest }) },
    responses: {
      200: text('A sigstore bundle. The ETag is its digest', BUNDLE_MEDIA_TYPE),
      ...notModified,
      ...errorResponses('invalid-request', 'not-found', 'gone'),
    },
  }),
  attach: createRoute({
    method: 'post',
    path: PATHS.bundles,
    operationId: 'attachBundle',
    tags: ['releases'],
    summary: 'Add a signature or an attestation to a published release',
    ...bearer,
    request: {
      params: releaseParameters,
      body: {
        required: true,
        content: {
          [BUNDLE_MEDIA_TYPE]: { schema: z.looseObject({}) },
          'application/json': { schema: z.looseObject({}) },
        },
      },
    },
    responses: {
      200: json('All bundles of the release', BundleList),
      ...writeErrors(
        'invalid-document',
        'not-found',
        'conflict',
        'gone',
        'too-large',
        'unsupported-media-type',
      ),
    },
  }),
  yank: releaseChange('yank', 'Yank a release: remove it from catalogs, but keep its bytes', true),
  unyank: releaseChange('unyank', 'Undo the yank of a release', false),
  takedown: createRoute({
    method: 'post',
    path: PATHS.takedown,
    operationId: 'takeDownRelease',
    tags: ['releases'],
    summary: 'Take down a release: delete it permanently, except its name, digest, and reason',
    ...bearer,
    request: {
      params: releaseParameters,
      query: parameters.TakedownParameters,
      body: { required: true, content: { 'application/json': { schema: TakedownRequest } } },
    },
    responses: {
      200: json('The deleted objects, or with dryRun the objects that would be deleted', TakedownResult),
      ...writeErrors('not-found', 'conflict'),
    },
  }),
  deprecate: releaseChange(
    'deprecate',
    'Deprecate a release, and name what to use instead. Catalogs still contain it',
    true,
    DeprecateRequest,
  ),
  undeprecate: releaseChange('undeprecate', 'Undo the deprecation of a release', false),
} as const;
