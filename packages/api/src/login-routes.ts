import { createRoute } from '@hono/zod-openapi';
import { LoginRequest, LoginResult, LoginTokenRequest, PendingLogin } from './login-model.js';
import { PATHS } from './paths.js';
import { errorResponses, json } from './route-responses.js';

const body = <Schema>(schema: Schema) => ({
  body: { required: true, content: { 'application/json': { schema } } },
});

/** Operations for programs that sign in as a user. */
export const LOGIN_ROUTES = {
  requestLogin: createRoute({
    method: 'post',
    path: PATHS.loginRequests,
    operationId: 'requestLogin',
    tags: ['tokens'],
    summary: 'Ask a user to allow a program to sign in',
    request: body(LoginRequest),
    responses: {
      201: json('The code that the user compares, and the page', PendingLogin),
      ...errorResponses('invalid-request', 'too-large'),
    },
  }),
  loginToken: createRoute({
    method: 'post',
    path: PATHS.loginToken,
    operationId: 'getLoginToken',
    tags: ['tokens'],
    summary: 'Get the token after the user allowed it. The response contains it once',
    request: body(LoginTokenRequest),
    responses: {
      200: json('The token', LoginResult),
      202: json('The user has not answered yet', LoginResult),
      ...errorResponses('invalid-request', 'forbidden', 'gone', 'too-large'),
    },
  }),
} as const;
