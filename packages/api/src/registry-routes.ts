import { createRoute, z } from '@hono/zod-openapi';
import {
  CreatedToken,
  CreateTokenRequest,
  EventPage,
  Health,
  LeakReport,
  Readiness,
  RegistryKeyList,
  RevocationPage,
  Token,
  TokenList,
} from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, failures, json, notModified, text } from './route-answers.js';

/** What concerns the registry as a whole. */
export const REGISTRY_ROUTES = {
  events: createRoute({
    method: 'get',
    path: PATHS.events,
    operationId: 'listEvents',
    tags: ['events'],
    summary: 'What happened, in order',
    request: { query: parameters.EventParameters },
    responses: { 200: json('A page of events, oldest first', EventPage), ...failures('invalid-request') },
  }),
  revocations: createRoute({
    method: 'get',
    path: PATHS.revocations,
    operationId: 'listRevocations',
    tags: ['events'],
    summary: 'Yanks, unyanks, takedowns and withdrawn snapshots in order, for mirrors and caches',
    request: { query: parameters.EventParameters },
    responses: {
      200: json('A page of revocations, oldest first', RevocationPage),
      ...failures('invalid-request'),
    },
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
  reportLeak: createRoute({
    method: 'post',
    path: PATHS.reportLeak,
    operationId: 'reportLeakedToken',
    tags: ['tokens'],
    summary: 'Revoke a token that was found where it should not be; having it is all that is needed',
    request: { body: { required: true, content: { 'application/json': { schema: LeakReport } } } },
    responses: {
      204: { description: 'A token of this registry is revoked now; of any other, nothing is said' },
      ...failures('invalid-request'),
    },
  }),
  registryKeys: createRoute({
    method: 'get',
    path: PATHS.registryKeys,
    operationId: 'registryKeys',
    tags: ['operations'],
    summary:
      'The public keys of the registry; whom to trust is not for itself to say, so compare fingerprints',
    responses: {
      200: json('The keys, newest first', RegistryKeyList),
      ...notModified,
      ...failures(),
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
