import { createRoute } from '@hono/zod-openapi';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json } from './route-responses.js';
import {
  AddPublisherRequest,
  CheckedPublishers,
  CheckPublishersRequest,
  ExchangedToken,
  ExchangeRequest,
  OidcAudience,
  PublisherParameters,
  PublishersQuery,
  TrustedPublisher,
  TrustedPublisherList,
} from './trusted-publisher-model.js';

const body = <Schema>(schema: Schema) => ({
  body: { required: true, content: { 'application/json': { schema } } },
});

/** Operations for publishing from CI without a stored secret. */
export const TRUSTED_PUBLISHER_ROUTES = {
  trustedPublishers: createRoute({
    method: 'get',
    path: PATHS.trustedPublishers,
    operationId: 'listTrustedPublishers',
    tags: ['trusted publishers'],
    summary: 'List the workflows that may publish: in a group, or in the whole registry',
    ...bearer,
    request: { query: PublishersQuery },
    responses: {
      200: json('The publishers, by group', TrustedPublisherList),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden'),
    },
  }),
  addPublisher: createRoute({
    method: 'post',
    path: PATHS.trustedPublishers,
    operationId: 'addTrustedPublisher',
    tags: ['trusted publishers'],
    summary: 'Let a workflow publish in a group',
    ...bearer,
    request: body(AddPublisherRequest),
    responses: {
      201: json('The publisher', TrustedPublisher),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'conflict', 'too-large'),
    },
  }),
  checkPublishers: createRoute({
    method: 'post',
    path: PATHS.checkPublishers,
    operationId: 'checkTrustedPublishers',
    tags: ['trusted publishers'],
    summary: 'Compare the claims of a token with the publishers of a group',
    ...bearer,
    request: body(CheckPublishersRequest),
    responses: {
      200: json('What differs, by publisher', CheckedPublishers),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'too-large'),
    },
  }),
  removePublisher: createRoute({
    method: 'delete',
    path: PATHS.trustedPublisher,
    operationId: 'removeTrustedPublisher',
    tags: ['trusted publishers'],
    summary: 'End that a workflow may publish',
    ...bearer,
    request: { params: PublisherParameters },
    responses: {
      204: { description: 'The workflow gets no token any more' },
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  oidcAudience: createRoute({
    method: 'get',
    path: PATHS.oidcAudience,
    operationId: 'getOidcAudience',
    tags: ['trusted publishers'],
    summary: 'Get the audience for which CI providers sign tokens',
    responses: { 200: json('The audience', OidcAudience), ...errorResponses('conflict') },
  }),
  exchangeToken: createRoute({
    method: 'post',
    path: PATHS.oidcToken,
    operationId: 'exchangeToken',
    tags: ['trusted publishers'],
    summary: 'Exchange the token of a run of a workflow for one that can publish',
    request: body(ExchangeRequest),
    responses: {
      201: json('The token', ExchangedToken),
      ...errorResponses(
        'invalid-request',
        'unauthorized',
        'forbidden',
        'conflict',
        'unavailable',
        'too-large',
      ),
    },
  }),
} as const;
