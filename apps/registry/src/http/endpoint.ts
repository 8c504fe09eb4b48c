import { type RouteConfig, z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/lint/suggest';
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

/** For a route that is not of the HTTP API. */
export interface EndpointOptions {
  /** What its requests are counted by; the API's routes stand in a table. */
  rateLimitClass?: RateLimitClass;
  /** What to do about parameters that are wrong. */
  hint?: string;
}

/**
 * Serves a route of the HTTP contract. The handler gets the path's parameters and the query decoded and
 * checked by the route's own schemas; what the route does not name is refused, every problem at once.
 */
export function serveRoute<Route extends RouteConfig>(
  app: RegistryApp,
  route: Route,
  handler: (c: RegistryContext, input: EndpointInput<Route>) => Response | Promise<Response>,
  { rateLimitClass, hint = 'GET /openapi.json describes every operation.' }: EndpointOptions = {},
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
    return handler(c, { params, query } as EndpointInput<Route>);
  });
}

/** Answers 405 with Allow on every path that has routes, for the methods that it has not. */
export function refuseOtherMethods(app: RegistryApp, routes: readonly RouteConfig[]): void {
  const methods = new Map<string, string[]>();
  for (const { path, method } of routes) {
    methods.set(path, [
      ...(methods.get(path) ?? []),
      ...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]),
    ]);
  }
  // `/tokens/report-leak` before `/tokens/{id}`, which has its spelling too.
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

/** `{kind}.yaml` is no parameter to the router but a pattern, whose suffix stands in the value. */
function routingPattern(template: string): { pattern: string; suffixes: Map<string, string> } {
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

/** Problems after which unknown names are not told any more. */
const MAX_UNKNOWN_NAMED = 20;

/** Values by their names, as queries and forms have them; what is wrong is added to the problems. */
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
      // Looking for what each of thousands may mean would keep others waiting.
      if (problems.length >= MAX_UNKNOWN_NAMED) continue;
      const meant = suggest(name, known);
      problems.push(`${what} "${name}" is unknown${meant === undefined ? '' : `: did you mean "${meant}"?`}`);
      continue;
    }
    const all = given.getAll(name);
    if (acceptsList(schema.shape[name] as z.ZodType)) values[name] = all;
    else if (all.length > 1) problems.push(`${what} "${name}" is given ${all.length} times`);
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
