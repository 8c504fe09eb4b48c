import { createRoute, z } from '@hono/zod-openapi';
import { AccessCheck, AccessDecision, AccessDetail, AccessResult } from './model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, writeErrors } from './route-responses.js';

/** Operations on the Access document. */
export const ACCESS_ROUTES = {
  access: createRoute({
    method: 'get',
    path: PATHS.access,
    operationId: 'getAccess',
    tags: ['access'],
    summary: 'Get the Access document: teams, owners, visibility, and grants',
    ...bearer,
    responses: {
      200: json('The document', AccessDetail),
      ...errorResponses('unauthorized', 'forbidden'),
    },
  }),
  applyAccess: createRoute({
    method: 'put',
    path: PATHS.access,
    operationId: 'applyAccess',
    tags: ['access'],
    summary: 'Replace the Access document',
    ...bearer,
    request: {
      query: parameters.DocumentParameters,
      body: {
        required: true,
        content: { 'application/yaml': { schema: z.string().openapi({ description: 'Access' }) } },
      },
    },
    responses: {
      200: json('Who gains and loses what, or with dryRun would', AccessResult),
      ...writeErrors('invalid-document', 'conflict', 'too-large', 'unsupported-media-type'),
    },
  }),
  checkAccess: createRoute({
    method: 'post',
    path: PATHS.checkAccess,
    operationId: 'checkAccess',
    tags: ['access'],
    summary: 'Get the decision on what an actor may do, and what gives or denies the right',
    ...bearer,
    request: { body: { required: true, content: { 'application/json': { schema: AccessCheck } } } },
    responses: {
      200: json('The decision', AccessDecision),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
} as const;
