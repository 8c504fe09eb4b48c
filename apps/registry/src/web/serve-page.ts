import type { RouteConfig } from '@hono/zod-openapi';
import { asActor } from '../http/auth/request-actor.js';
import type { RateLimitClass, RegistryApp, RegistryContext } from '../http/context.js';
import { type EndpointInput, serveRoute } from '../http/endpoint.js';
import { isOperatorPath } from './addresses.js';

/** Hint for wrong parameters of a page: its users follow links and fill in forms. */
const WRONG_PARAMETERS = 'Correct the URL, or search for the function.';

/** Serves a route of the pages. By default it counts as a read; its hints are for people. */
export function servePage<Route extends RouteConfig>(
  app: RegistryApp,
  route: Route,
  { rateLimitClass = 'read' }: { rateLimitClass?: RateLimitClass },
  handler: (c: RegistryContext, input: EndpointInput<Route>) => Response | Promise<Response>,
): void {
  // Assets and the like are the same for everybody.
  const serve: typeof handler =
    rateLimitClass === 'free' ? handler : (c, input) => asVisitor(c, async () => handler(c, input));
  serveRoute(app, route, serve, { rateLimitClass, hint: WRONG_PARAMETERS });
}

/** Responds to the signed-in user, if there is one and it matters. */
export async function asVisitor(c: RegistryContext, respond: () => Promise<Response>): Promise<Response> {
  const visitor = await c.get('findVisitor')?.(c);
  if (visitor === undefined) return respond();
  c.set('isPrivate', true);
  if (!isOperatorPath(c.req.path)) {
    c.set('visitor', visitor);
    // The right to read a page ends with the session, so it is neither revalidated nor compressed.
    const headers = new Headers(c.req.raw.headers);
    for (const name of ['If-None-Match', 'Accept-Encoding']) headers.delete(name);
    c.req.raw = new Request(c.req.raw, { headers });
  }
  return asActor(visitor.actor, respond);
}
