import type { RouteConfig } from '@hono/zod-openapi';
import type { RateLimitClass, RegistryApp, RegistryContext } from '../http/context.js';
import { type EndpointInput, serveRoute } from '../http/endpoint.js';

/** What is said with a page's parameters that are wrong: whoever wrote them follows links and fills in forms. */
const WRONG_PARAMETERS = 'Correct the URL, or start again from the search.';

/** Serves a route of the pages: counted as reading where nothing else is said, its hints for people. */
export function servePage<Route extends RouteConfig>(
  app: RegistryApp,
  route: Route,
  { rateLimitClass = 'read' }: { rateLimitClass?: RateLimitClass },
  handler: (c: RegistryContext, input: EndpointInput<Route>) => Response | Promise<Response>,
): void {
  serveRoute(app, route, handler, { rateLimitClass, hint: WRONG_PARAMETERS });
}
