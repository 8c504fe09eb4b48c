import { createRoute } from '@hono/zod-openapi';
import { ClaimRequest, Owner, OwnerList, OwnerParameters, VerifiedOwner } from './owner-model.js';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json } from './route-responses.js';

/** Operations for owners of groups. */
export const OWNER_ROUTES = {
  owners: createRoute({
    method: 'get',
    path: PATHS.owners,
    operationId: 'listOwners',
    tags: ['owners'],
    summary: 'List the owners of groups, and how each was shown',
    responses: { 200: json('The owners, by group', OwnerList), ...errorResponses() },
  }),
  claimGroup: createRoute({
    method: 'post',
    path: PATHS.claimGroup,
    operationId: 'claimGroup',
    tags: ['owners'],
    summary: 'Claim a group for a team, or give it to another team, with a proof by its domain',
    ...bearer,
    request: {
      params: OwnerParameters,
      body: { required: true, content: { 'application/json': { schema: ClaimRequest } } },
    },
    responses: {
      200: json('The owner', Owner),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'conflict'),
    },
  }),
  verifyOwner: createRoute({
    method: 'post',
    path: PATHS.verifyOwner,
    operationId: 'verifyOwner',
    tags: ['owners'],
    summary: 'Look for the proof of an owner now',
    ...bearer,
    request: { params: OwnerParameters },
    responses: {
      200: json('What was found', VerifiedOwner),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'conflict'),
    },
  }),
  releaseGroup: createRoute({
    method: 'delete',
    path: PATHS.owner,
    operationId: 'releaseGroup',
    tags: ['owners'],
    summary: 'End the claim to a group',
    ...bearer,
    request: { params: OwnerParameters },
    responses: {
      204: { description: 'The group has no claim any more' },
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
} as const;
