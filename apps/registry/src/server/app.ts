import { ROUTES } from '@krmhub/api/routes';
import { ANONYMOUS, INSIDER, readRights } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { Hono } from 'hono';
import { identify } from '../http/auth/authorize.js';
import { rateLimitFields } from '../http/auth/rate-limit.js';
import { asActor } from '../http/auth/request-actor.js';
import { RequestLimits } from '../http/auth/request-limits.js';
import { clientAddresses, insideAddresses, readTrustedProxies } from '../http/client-address.js';
import type { RegistryApp, RegistryContext, RegistryEnv } from '../http/context.js';
import { refuseOtherMethods } from '../http/endpoint.js';
import { invalidToken } from '../http/invalid-token.js';
import { releaseBody } from '../http/request-body.js';
import {
  chooseRequestId,
  commonHeaders,
  DENY_ALL_POLICY,
  PRIVATE_HEADERS,
  PRIVATE_VARY,
  READ_HEADERS,
} from '../http/response-headers.js';
import { RepositoryAccess } from '../oci/access.js';
import { ociRoutes } from '../oci/routes.js';
import { accessRoutes } from '../routes/access.js';
import { auditRoute } from '../routes/audit.js';
import { bundleRoutes } from '../routes/bundles.js';
import { catalogInputsRoute } from '../routes/catalog-inputs.js';
import { catalogReleasesRoute } from '../routes/catalog-releases.js';
import { catalogRoutes } from '../routes/catalogs.js';
import { consumerRoutes } from '../routes/consumers.js';
import { eventRoutes } from '../routes/events.js';
import { functionRoutes } from '../routes/functions.js';
import { functionsExportRoute } from '../routes/functions-export.js';
import { lifecycleRoutes } from '../routes/lifecycle.js';
import { loginRoutes } from '../routes/login.js';
import { operationRoutes } from '../routes/operations.js';
import { ownerRoutes } from '../routes/owners.js';
import { policyRoutes } from '../routes/policies.js';
import { releaseRoutes } from '../routes/releases.js';
import { renovateRoutes } from '../routes/renovate.js';
import { signatureRoutes } from '../routes/signatures.js';
import { snapshotRoutes } from '../routes/snapshots.js';
import { sourceRoutes } from '../routes/sources.js';
import { takedownRoutes } from '../routes/takedowns.js';
import { tokenRoutes } from '../routes/tokens.js';
import { trustedPublisherRoutes } from '../routes/trusted-publishers.js';
import { userRoutes } from '../routes/users.js';
import { scimErrorResponse } from '../scim/scim-error.js';
import { isScimPath, SCIM_ROUTES, scimRoutes } from '../scim/scim-routes.js';
import { DEVICE_LOGIN, functionPath, releasePath } from '../web/addresses.js';
import { readAssets } from '../web/assets.js';
import { errorResponse } from '../web/error/error-response.js';
import { Sessions } from '../web/operate/sessions.js';
import { addVisitorLine, findVisitors } from '../web/operate/visitor.js';
import { asVisitor } from '../web/serve-page.js';
import { createSite } from '../web/site.js';
import { WEB_ROUTES, webRoutes } from '../web/web-routes.js';
import type { OpenRegistry } from './open-registry.js';
import { seenRegistry } from './seen-registry.js';

/** Returns the HTTP application, without a socket. */
export function createApp(opened: OpenRegistry): RegistryApp {
  const app: RegistryApp = new Hono<RegistryEnv>();
  const registry = seenRegistry(opened);
  const { config, clock, log } = registry;
  const clientAddress = clientAddresses(readTrustedProxies(config.trustedProxies ?? []).proxies, log);
  const isInside = insideAddresses(config);
  const site = createSite(config, readAssets());
  const limits = new RequestLimits(config, clock, () => registry.metrics.loginFailed());
  const always = Object.entries(commonHeaders(config.publicUrl));
  app.use(async (c, next) => {
    const started = performance.now();
    c.set('requestId', chooseRequestId(c.req.header('x-request-id')));
    c.set('route', 'unmatched');
    c.set('client', clientAddress(c.env?.incoming));
    c.set('limits', limits);
    await next().finally(() => releaseBody(c));
    await registry.refusals.record(c);
    addHeaders(c, always);
    record(c, registry, (performance.now() - started) / 1000);
  });
  app.use(async (c, next) => {
    await next();
    // A change that was made before, so that nothing was written, may wait for a sync that failed.
    const isChange = c.req.method !== 'GET' && c.req.method !== 'HEAD';
    if (isChange && c.get('isDurable') !== true) await registry.store.durable();
  });
  const repositoryAccess = new RepositoryAccess(registry);
  const readAccessToken = (token: string) => repositoryAccess.readAccessToken(token);
  const sessions = new Sessions(opened.store, opened.signIns);
  const findVisitor = findVisitors({ ...opened, sessions, site });
  app.use(async (c, next) => {
    // Nothing is hidden, so it does not matter who asks.
    if (!opened.access.rules.hidesAnything) return next();
    const find = async () => {
      const identified = await identify(c, opened, readAccessToken);
      // Only this needs no database: what is internal may have become private while this process cannot reach it.
      return identified === ANONYMOUS && opened.isCurrent() && isInside(c.env?.incoming)
        ? INSIDER
        : identified;
    };
    const actor = await find();
    const { revision } = opened.access.rules;
    // Nobody else may get the answer from a cache.
    if (actor !== ANONYMOUS) c.set('isPrivate', true);
    c.set('recheckReader', async () => {
      const now = await find();
      if (now.id !== actor.id) throw new KrmhubError('unauthorized', 'the token was revoked, or has expired');
      const isSame = revision === opened.access.rules.revision && readRights(now) === readRights(actor);
      return { actor: now, isSame };
    });
    c.set('findVisitor', findVisitor);
    await asActor(actor, next);
    await addVisitorLine(c);
  });
  app.onError((error, c) => {
    if (isScimPath(c.req.path)) return scimErrorResponse(c, error, registry);
    return errorResponse(c, error, site, registry);
  });
  app.notFound((c) => {
    const missing = new KrmhubError('not-found', `path ${c.req.path} not found`, {
      hint: 'See / for an overview.',
    });
    if (isScimPath(c.req.path)) return scimErrorResponse(c, missing, registry);
    return asVisitor(c, async () => errorResponse(c, missing, site, registry));
  });
  ociRoutes(app, { ...registry, repositoryAccess });
  functionRoutes(app, registry);
  functionsExportRoute(app, registry);
  releaseRoutes(app, registry);
  bundleRoutes(app, registry);
  policyRoutes(app, registry);
  ownerRoutes(app, registry);
  trustedPublisherRoutes(app, registry);
  accessRoutes(app, registry);
  lifecycleRoutes(app, registry);
  takedownRoutes(app, registry);
  eventRoutes(app, registry);
  auditRoute(app, registry);
  tokenRoutes(app, registry);
  userRoutes(app, registry);
  loginRoutes(app, { ...registry, loginPage: DEVICE_LOGIN });
  scimRoutes(app, registry);
  catalogRoutes(app, registry);
  catalogReleasesRoute(app, registry);
  catalogInputsRoute(app, registry);
  sourceRoutes(app, registry);
  snapshotRoutes(app, registry);
  signatureRoutes(app, registry);
  operationRoutes(app, registry);
  consumerRoutes(app, registry);
  renovateRoutes(app, { ...registry, pages: { functionPath, releasePath } });
  webRoutes(app, { ...registry, sessions, site });
  refuseOtherMethods(app, [
    ...Object.values({ ...ROUTES, ...SCIM_ROUTES }),
    ...WEB_ROUTES.map(([, route]) => route),
  ]);
  return app;
}

/** Not with `c.header`, which copies the response for each field. */
function addHeaders(c: RegistryContext, always: readonly [string, string][]): void {
  const { headers } = c.res;
  headers.set('X-Request-Id', c.get('requestId'));
  for (const [name, value] of always) headers.set(name, value);
  const allowance = c.get('allowance');
  if (allowance !== undefined) {
    for (const [name, value] of Object.entries(rateLimitFields(allowance))) headers.set(name, value);
  }
  if (!headers.has('Content-Security-Policy')) headers.set('Content-Security-Policy', DENY_ALL_POLICY);
  if (c.get('isPrivate') === true) {
    for (const [name, value] of Object.entries(PRIVATE_HEADERS)) headers.set(name, value);
  } else if (c.req.method === 'GET' || c.req.method === 'HEAD') {
    for (const [name, value] of Object.entries(READ_HEADERS)) headers.set(name, value);
  }
  if (c.get('isPrivate') === true || c.get('findVisitor') !== undefined) headers.append('Vary', PRIVATE_VARY);
  const useless = c.get('uselessToken');
  // A page or a file that is there is the same for everyone. What is hidden would be there with another token.
  const hasLess = c.req.path.startsWith('/api/') || c.res.status === 404;
  if (useless !== undefined && hasLess && !headers.has('WWW-Authenticate'))
    headers.set('WWW-Authenticate', invalidToken(useless, { isAway: c.get('isTokenAway') === true }));
  // node-server sends the header of a response whose body was not asked for before it has the first piece. If there is
  // none because the stream fails, the client must see an error.
  if (c.get('isStream') === true) void c.res.body;
}

function record(c: RegistryContext, { requestLog, metrics }: OpenRegistry, seconds: number): void {
  const { method } = c.req;
  const { status } = c.res;
  const route = c.get('route');
  metrics.request(KNOWN_METHODS.has(method) ? method : 'other', route, status, seconds);
  const level = status >= 500 ? 'error' : QUIET_ROUTES.has(route) ? 'debug' : 'info';
  const failure = c.get('failure');
  const actor = c.get('actor');
  requestLog.write(level, {
    requestId: c.get('requestId'),
    client: c.get('client'),
    method,
    route,
    path: c.req.path,
    status,
    seconds,
    ...defined({ actor, failure }),
  });
}

/** Methods in metrics. Clients choose method names, so an unknown one must not create a time series. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'PATCH']);
/** Routes that machines poll; logged at debug level. */
const QUIET_ROUTES = new Set<string>([
  '/healthz',
  '/readyz',
  '/metrics',
  ROUTES.catalogYaml.path,
  ROUTES.catalogJson.path,
]);
