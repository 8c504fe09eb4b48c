import { createRoute, z } from '@hono/zod-openapi';
import { ConsumerReport, ConsumerResult, FunctionConsumers } from './consumer-model.js';
import * as parameters from './parameters.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json, writeErrors } from './route-responses.js';

/** Reports about packages that use functions, and how many use one. */
export const CONSUMER_ROUTES = {
  reportConsumer: createRoute({
    method: 'put',
    path: PATHS.reportConsumer,
    operationId: 'reportConsumer',
    tags: ['functions'],
    summary:
      'Report which releases a package locks. Replaces the earlier report of the same team, user, or token',
    ...bearer,
    request: { body: { required: true, content: { 'application/json': { schema: ConsumerReport } } } },
    responses: {
      200: json('What is counted', ConsumerResult),
      ...writeErrors('conflict', 'too-large', 'unsupported-media-type'),
    },
  }),
  functionConsumers: createRoute({
    method: 'get',
    path: PATHS.functionConsumers,
    operationId: 'getFunctionConsumers',
    tags: ['functions'],
    summary: 'Count the packages that lock releases of a function, for those who may publish it',
    ...bearer,
    request: { params: z.object({ group: parameters.Group, kind: parameters.Kind }) },
    responses: {
      200: json('The counts', FunctionConsumers),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'gone'),
    },
  }),
} as const;
