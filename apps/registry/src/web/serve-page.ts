import type { RouteConfig } from '@hono/zod-openapi';
import type { RateLimitClass, RegistryApp, RegistryContext } from '../http/context.js';
import { type EndpointInput, serveRoute } from '../http/endpoint.js';

/** Hint for wrong parameters of a page: its users follow links and fill in forms. */
const WRONG_PARAMETERS = 'Correct the URL, or search for the function.';

/** Serves a route of the pages. By default it counts as a read; its hints are for people. */
export function servePage<Route extends RouteConfig>(
  app: RegistryApp,
  route: Route,
  { rateLimitClass = 'read' }: { rateLimitClass?: RateLimitClass },
  handler: (c: RegistryContext, input: EndpointInput<Route>) => Response | Promise<Response>,
): void {
  serveRoute(app, route, handler, { rateLimitClass, hint: WRONG_PARAMETERS });
}
