import { createRoute } from '@hono/zod-openapi';
import { PATHS } from './paths.js';
import { bearer, errorResponses, json } from './route-responses.js';
import {
  RestoreUserResult,
  SuspendResult,
  UserPage,
  UserParameters,
  UserReport,
  UsersQuery,
} from './user-model.js';

const ofUser = { ...bearer, request: { params: UserParameters } };

/** Operations on people who sign in. */
export const USER_ROUTES = {
  users: createRoute({
    method: 'get',
    path: PATHS.users,
    operationId: 'listUsers',
    tags: ['users'],
    summary: 'List the users',
    ...bearer,
    request: { query: UsersQuery },
    responses: {
      200: json('A page of users', UserPage),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden'),
    },
  }),
  user: createRoute({
    method: 'get',
    path: PATHS.user,
    operationId: 'getUser',
    tags: ['users'],
    summary: 'Get a user',
    ...ofUser,
    responses: {
      200: json('The user', UserReport),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  suspendUser: createRoute({
    method: 'post',
    path: PATHS.suspendUser,
    operationId: 'suspendUser',
    tags: ['users'],
    summary: 'Suspend a user: sessions end, and personal tokens are refused',
    ...ofUser,
    responses: {
      200: json('The user, and what ended', SuspendResult),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found'),
    },
  }),
  restoreUser: createRoute({
    method: 'post',
    path: PATHS.restoreUser,
    operationId: 'restoreUser',
    tags: ['users'],
    summary: 'End the suspension of a user',
    ...ofUser,
    responses: {
      200: json('The user', RestoreUserResult),
      ...errorResponses('invalid-request', 'unauthorized', 'forbidden', 'not-found', 'conflict'),
    },
  }),
} as const;
