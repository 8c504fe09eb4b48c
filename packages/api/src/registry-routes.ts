import { createRoute, z } from '@hono/zod-openapi';
import {
  AuditPage,
  AuditRow,
  CreatedToken,
  CreateTokenRequest,
  EventPage,
  Health,
  Identity,
  LeakReport,
  PolicyResult,
  PolicySet,
  Readiness,
  RegistryKeyList,
  RevocationPage,
  Token,
  TokenList,
} from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, notModified, text, writeErrors } from './route-responses.js';

/** Operations for the registry as a whole: events, tokens, policies, health. */
export const REGISTRY_ROUTES = {
  events: createRoute({
    method: 'get',
    path: PATHS.events,
    operationId: 'listEvents',
    tags: ['events'],
    summary: 'List events in order',
    request: { query: parameters.EventParameters },
    responses: {
      200: json('A page of events, oldest first', EventPage),
      ...errorResponses('invalid-request'),
    },
  }),
  revocations: createRoute({
    method: 'get',
    path: PATHS.revocations,
    operationId: 'listRevocations',
    tags: ['events'],
    summary:
      'List yanks, unyanks, takedowns, withdrawn snapshots, and deleted catalogs in order, for mirrors and caches',
    request: { query: parameters.RevocationParameters },
    responses: {
      200: json('A page of revocations, oldest first', RevocationPage),
      ...notModified,
      ...errorResponses('invalid-request'),
    },
  }),
  audit: createRoute({
    method: 'get',
    path: PATHS.audit,
    operationId: 'listAuditRows',
    tags: ['operations'],
    summary: 'List the rows of the audit log. The token needs the scope `audit` or `admin`',
    ...bearer,
    request: { query: parameters.AuditParameters },
    responses: {
      200: {
        description: 'A page of rows, or all rows as lines; newest first',
        content: {
          'application/json': { schema: AuditPage },
          'application/x-ndjson': { schema: AuditRow },
        },
      },
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'unavailable'),
    },
  }),
  whoami: createRoute({
    method: 'get',
    path: PATHS.whoami,
    operationId: 'whoami',
    tags: ['tokens'],
    summary: 'Get the token of this request',
    ...bearer,
    responses: {
      200: json('The token, and what its team may do', Identity),
      ...errorResponses('unauthorized'),
    },
  }),
  listTokens: createRoute({
    method: 'get',
    path: PATHS.tokens,
    operationId: 'listTokens',
    tags: ['tokens'],
    summary: 'List tokens, without their secrets: all as an administrator, else those of the user',
    ...bearer,
    responses: { 200: json('The tokens', TokenList), ...errorResponses('unauthorized', 'forbidden') },
  }),
  createToken: createRoute({
    method: 'post',
    path: PATHS.tokens,
    operationId: 'createToken',
    tags: ['tokens'],
    summary:
      'Create a token: of the user, or as an administrator of a program. The response has its secret once',
    ...bearer,
    request: { body: { required: true, content: { 'application/json': { schema: CreateTokenRequest } } } },
    responses: {
      201: json('The token and its secret', CreatedToken),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden'),
    },
  }),
  revokeToken: createRoute({
    method: 'delete',
    path: PATHS.token,
    operationId: 'revokeToken',
    tags: ['tokens'],
    summary: 'Revoke a token: any as an administrator, else one of the user',
    ...bearer,
    request: { params: z.object({ id: parameters.TokenId }) },
    responses: {
      200: json('The revoked token', Token),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  reportLeak: createRoute({
    method: 'post',
    path: PATHS.reportLeak,
    operationId: 'reportLeakedToken',
    tags: ['tokens'],
    summary: 'Revoke a leaked token. The request requires only the token itself',
    request: { body: { required: true, content: { 'application/json': { schema: LeakReport } } } },
    responses: {
      204: {
        description: 'A token of this registry is now revoked. The response is the same for other tokens',
      },
      ...errorResponses('invalid-request'),
    },
  }),
  policies: createRoute({
    method: 'get',
    path: PATHS.policies,
    operationId: 'getPolicies',
    tags: ['policies'],
    summary: 'Get the signing policies: which signers are trusted for which functions',
    responses: { 200: json('The policies', PolicySet), ...errorResponses() },
  }),
  applyPolicies: createRoute({
    method: 'put',
    path: PATHS.policies,
    operationId: 'applyPolicies',
    tags: ['policies'],
    summary: 'Replace all signing policies',
    ...bearer,
    request: {
      query: parameters.PolicyParameters,
      body: {
        required: true,
        content: { 'application/yaml': { schema: z.string().openapi({ description: 'SigningPolicies' }) } },
      },
    },
    responses: {
      200: json('The changes, or with dryRun the changes that would be made', PolicyResult),
      ...writeErrors('invalid-document', 'conflict', 'too-large', 'unsupported-media-type'),
    },
  }),
  registryKeys: createRoute({
    method: 'get',
    path: PATHS.registryKeys,
    operationId: 'registryKeys',
    tags: ['operations'],
    summary: 'Get the public keys of the registry. Compare the fingerprints with a trusted copy',
    responses: {
      200: json('The keys, newest first', RegistryKeyList),
      ...notModified,
      ...errorResponses(),
    },
  }),
  registryKey: createRoute({
    method: 'get',
    path: PATHS.registryKey,
    operationId: 'registryKey',
    tags: ['operations'],
    summary: 'Get the public key that signs now. Compare its fingerprint with a trusted copy',
    responses: { 200: text('The key in PEM', 'application/x-pem-file'), ...notModified, ...errorResponses() },
  }),
  openapi: createRoute({
    method: 'get',
    path: PATHS.openapi,
    operationId: 'openapi',
    tags: ['operations'],
    summary: 'Get this document',
    responses: { 200: text('OpenAPI 3.1', 'application/json') },
  }),
  healthz: createRoute({
    method: 'get',
    path: PATHS.healthz,
    operationId: 'healthz',
    tags: ['operations'],
    summary: 'Check whether the process is running',
    responses: { 200: json('The process is running', Health) },
  }),
  readyz: createRoute({
    method: 'get',
    path: PATHS.readyz,
    operationId: 'readyz',
    tags: ['operations'],
    summary: 'Check whether the registry can read, write, and build catalogs',
    request: { query: parameters.ReadinessParameters },
    responses: {
      200: json('The registry is ready', Readiness),
      503: json('The registry is not ready. See `checks`', Readiness),
      ...errorResponses('invalid-request'),
    },
  }),
  metrics: createRoute({
    method: 'get',
    path: PATHS.metrics,
    operationId: 'metrics',
    tags: ['operations'],
    summary: 'Get metrics in the Prometheus text format',
    responses: { 200: text('Metrics', 'text/plain') },
  }),
} as const;
