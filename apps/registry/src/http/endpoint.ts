/**
 * Reads requests and writes responses by the rules that all routes share.
 *
 * A route declares its parameters, which are checked before its handler runs. Bodies are read within limits of size and
 * memory (request-body.ts, body-memory.ts). Documents are sent with an ETag, in the coding that the client prefers
 * (negotiated-document.ts). A failure is an RFC 9457 problem (problem-response.ts).
 *
 * @module
 */

import { type RouteConfig, z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { findAttempt } from './auth/attempt.js';
import type { RateLimitClass, RegistryApp, RegistryContext } from './context.js';

type ParamsOf<Route> = Route extends { request: { params: infer Params extends z.ZodType } }
  ? z.output<Params>
  : Record<never, never>;
type QueryOf<Route> = Route extends { request: { query: infer Query extends z.ZodType } }
  ? z.output<Query>
  : Record<never, never>;

export interface EndpointInput<Route> {
  params: ParamsOf<Route>;
  query: QueryOf<Route>;
}

/** Options of a route that is not of the HTTP API. */
export interface EndpointOptions {
  /** Rate limit class of its requests. A table has the classes of the API's routes. */
  rateLimitClass?: RateLimitClass;
  /** Hint for wrong parameters. */
  hint?: string;
}

/**
 * Serves a route of the HTTP contract. The handler gets the parameters of the path and the query, decoded and checked
 * with the schemas of the route. Unknown parameters are refused, and all problems are reported together.
 */
export function serveRoute<Route extends RouteConfig>(
  app: RegistryApp,
  route: Route,
  handler: (c: RegistryContext, input: EndpointInput<Route>) => Response | Promise<Response>,
  {
    rateLimitClass,
    hint = 'The operations and their parameters are in /openapi.json.',
  }: EndpointOptions = {},
): void {
  const { pattern, suffixes } = routingPattern(route.path);
  const paramsSchema = (route.request?.params as z.ZodObject | undefined) ?? z.object({});
  const querySchema = (route.request?.query as z.ZodObject | undefined) ?? z.object({});
  app.on(route.method, pattern, (c) => {
    c.set('route', route.path);
    if (rateLimitClass === undefined) c.get('limits').countRequest(c, route);
    else c.get('limits').countBy(c, rateLimitClass);
    const problems: string[] = [];
    const params = check(paramsSchema, pathValues(c, suffixes), 'path parameter', problems);
    const { searchParams } = new URL(c.req.url);
    const query = checkParameters(querySchema, searchParams, 'parameter', problems);
    if (problems.length > 0) {
      throw new KrmhubError('invalid-request', problems.join('; '), { hint });
    }
    const attempt = findAttempt(route, params as Record<string, string>);
    if (attempt !== undefined) c.set('attempt', attempt);
    return handler(c, { params, query } as EndpointInput<Route>);
  });
}

/** Responds 405 with Allow to the other methods of every path that has routes. */
export function refuseOtherMethods(app: RegistryApp, routes: readonly RouteConfig[]): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of routes) {
    methods.set(path, [
      ...(methods.get(path) ?? []),
      ...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]),
    ]);
  }
  // `/tokens/report-leak` before `/tokens/{id}`, which matches it too.
  const literalFirst = [...methods].sort(([a], [b]) => a.split('{').length - b.split('{').length);
  for (const [path, allowed] of literalFirst) {
    app.all(routingPattern(path).pattern, (c) => {
      c.set('route', path);
      c.header('Allow', allowed.join(', '));
      if (c.req.method === 'OPTIONS') return c.body(null, 204);
      throw new KrmhubError('method-not-allowed', `method ${c.req.method} is not allowed`, {
        hint: `Use ${allowed.join(', ')}.`,
      });
    });
  }
}

/** For the router, `{kind}.yaml` is not a parameter but a pattern, and the value includes the suffix. */
export function routingPattern(template: string): { pattern: string; suffixes: Map<string, string> } {
  const suffixes = new Map<string, string>();
  const segments = template.split('/').map((segment) => {
    const match = /^\{(\w+)\}(.*)$/.exec(segment);
    if (match === null) return segment;
    const [, name = '', suffix = ''] = match;
    suffixes.set(name, suffix);
    return suffix === '' ? `:${name}` : `:${name}{.+${suffix.replace('.', '\\.')}}`;
  });
  return { pattern: segments.join('/'), suffixes };
}

function pathValues(c: RegistryContext, suffixes: Map<string, string>): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, suffix] of suffixes) {
    const value = c.req.param(name) ?? '';
    values[name] = value.slice(0, value.length - suffix.length);
  }
  return values;
}

/** Number of problems after which unknown names are no longer reported. */
const MAX_UNKNOWN_NAMED = 20;

/** Checks the values of a query or a form by name; adds what is wrong to `problems`. */
export function checkParameters(
  schema: z.ZodObject,
  given: URLSearchParams,
  what: string,
  problems: string[],
): unknown {
  const known = Object.keys(schema.shape);
  const values: Record<string, unknown> = {};
  for (const name of new Set(given.keys())) {
    if (!known.includes(name)) {
      // Others may add what they like to a URL that they lead to.
      if (schema.def.catchall instanceof z.ZodUnknown) continue;
      // Suggesting a name for each of thousands would delay other requests.
      if (problems.length >= MAX_UNKNOWN_NAMED) continue;
      const meant = suggest(name, known);
      problems.push(`${what} "${name}" is unknown${meant === undefined ? '' : `: did you mean "${meant}"?`}`);
      continue;
    }
    const all = given.getAll(name);
    if (acceptsList(schema.shape[name] as z.ZodType)) values[name] = all;
    else if (all.length > 1) problems.push(`${what} "${name}" is set ${all.length} times`);
    else values[name] = all[0];
  }
  return check(schema, values, what, problems);
}

function acceptsList(schema: z.ZodType): boolean {
  return schema instanceof z.ZodOptional
    ? acceptsList(schema.unwrap() as z.ZodType)
    : schema instanceof z.ZodArray;
}

function check(
  schema: z.ZodObject,
  values: Record<string, unknown>,
  what: string,
  problems: string[],
): unknown {
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues)
    problems.push(`${what} "${String(path[0])}" ${message}`);
  return undefined;
}
