import type { z } from '@hono/zod-openapi';
import type { ROUTES, RouteName } from './routes.js';

type JsonBody<Response> = Response extends {
  content: { 'application/json': { schema: infer Schema extends z.ZodType } };
}
  ? z.output<Schema>
  : never;

/** The JSON that a route responds with on success. */
export type ResponseBody<Name extends RouteName> = (typeof ROUTES)[Name] extends {
  responses: infer Responses;
}
  ? JsonBody<Responses[keyof Responses & (200 | 201)]>
  : never;
