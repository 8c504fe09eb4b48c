import { ROUTES } from '@krmhub/api/routes';
import { KrmhubError } from '@krmhub/schema';
import { Hono } from 'hono';
import { ALWAYS_SENT, NOTHING_RUNS, requestIdOf, SENT_WITH_READS } from './answer-headers.js';
import { refuseOtherMethods } from './endpoint.js';
import type { RegistryApp, RegistryContext, RegistryEnv, RegistryParts } from './environment.js';
import { problemAnswer } from './problem-answer.js';
import { catalogRoutes } from './routes/catalogs.js';
import { eventRoutes } from './routes/events.js';
import { functionRoutes } from './routes/functions.js';
import { markRoutes } from './routes/marks.js';
import { operationRoutes } from './routes/operations.js';
import { releaseRoutes } from './routes/releases.js';
import { snapshotRoutes } from './routes/snapshots.js';
import { tokenRoutes } from './routes/tokens.js';

/** The registry over HTTP, without a socket. */
export function createApp(parts: RegistryParts): RegistryApp {
  const app: RegistryApp = new Hono<RegistryEnv>();
  app.use(async (c, next) => {
    const started = performance.now();
    c.set('requestId', requestIdOf(c.req.header('x-request-id')));
    c.set('route', 'unmatched');
    await next();
    addHeaders(c);
    record(c, parts, (performance.now() - started) / 1000);
  });
  app.onError((error, c) => problemAnswer(c, error, parts.log));
  app.notFound((c) => {
    const missing = new KrmhubError('not-found', `There is nothing at ${c.req.path}`, {
      hint: 'GET / says what is where.',
    });
    return problemAnswer(c, missing, parts.log);
  });
  functionRoutes(app, parts);
  releaseRoutes(app, parts);
  markRoutes(app, parts);
  eventRoutes(app, parts);
  tokenRoutes(app, parts);
  catalogRoutes(app, parts);
  snapshotRoutes(app, parts);
  operationRoutes(app, parts);
  refuseOtherMethods(app, [...Object.values(ROUTES), { method: 'get', path: '/', responses: {} }]);
  return app;
}

function addHeaders(c: RegistryContext): void {
  const { headers } = c.res;
  c.header('X-Request-Id', c.get('requestId'));
  for (const [name, value] of Object.entries(ALWAYS_SENT)) c.header(name, value);
  if (!headers.has('Content-Security-Policy')) c.header('Content-Security-Policy', NOTHING_RUNS);
  if (c.req.method === 'GET' || c.req.method === 'HEAD') {
    for (const [name, value] of Object.entries(SENT_WITH_READS)) c.header(name, value);
  }
}

function record(c: RegistryContext, { log, metrics }: RegistryParts, seconds: number): void {
  const { method } = c.req;
  const { status } = c.res;
  const route = c.get('route');
  metrics.request(KNOWN_METHODS.has(method) ? method : 'other', route, status, seconds);
  const level = status >= 500 ? 'error' : QUIET_ROUTES.has(route) ? 'debug' : 'info';
  log[level](
    { requestId: c.get('requestId'), method, route, path: c.req.path.slice(0, 500), status, seconds },
    'request',
  );
}

/** Names of methods are the client's: an unknown one must not make a new time series. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH']);
/** Asked by machines all the time. */
const QUIET_ROUTES = new Set<string>([
  '/healthz',
  '/readyz',
  '/metrics',
  ROUTES.catalogYaml.path,
  ROUTES.catalogJson.path,
]);
