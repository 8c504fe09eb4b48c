import {
  AddPublisherRequest,
  type CheckedPublishers,
  CheckPublishersRequest,
  type ExchangedToken,
  ExchangeRequest,
  type TrustedPublisher,
  type TrustedPublisherList,
} from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { type TrustedPublisher as PublisherRecord, publisherTarget } from '@krmhub/catalog';
import { type Authority, authenticate, latestToken } from '../http/auth/authorize.js';
import { callerOf, requestOrigin } from '../http/auth/caller.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { readJsonBody } from '../http/request-body.js';
import { type ExchangeDeps, exchangeToken, registryAudience } from '../trusted-publishers/exchange-token.js';
import {
  type AddingDeps,
  addPublisher,
  checkPublishers,
  listPublishers,
  removePublisher,
} from '../trusted-publishers/manage-publishers.js';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Routes for publishing from CI without a stored secret. */
export function trustedPublisherRoutes(app: RegistryApp, deps: ExchangeDeps & AddingDeps & Authority): void {
  serveRoute(app, ROUTES.trustedPublishers, async (c, { query: { group } }) => {
    const publishers = await listPublishers(deps, group, await authenticate(c, deps));
    const result: TrustedPublisherList = { publishers: publishers.map(publisherDetail) };
    return c.json(result, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.addPublisher, async (c) => {
    const first = await authenticate(c, deps);
    const wanted = await readJsonBody(c, AddPublisherRequest);
    const token = latestToken(c, first);
    const publisher = await addPublisher(deps, wanted, token, callerOf(c, token).origin);
    return c.json(publisherDetail(publisher), 201, NO_STORE);
  });

  serveRoute(app, ROUTES.checkPublishers, async (c) => {
    const token = await authenticate(c, deps);
    const asked = await readJsonBody(c, CheckPublishersRequest);
    const checked = await checkPublishers(deps, asked, latestToken(c, token));
    const result: CheckedPublishers = {
      publishers: checked.map(({ publisher, problems }) => ({
        id: publisher.id,
        target: publisherTarget(publisher),
        problems,
      })),
    };
    return c.json(result, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.removePublisher, async (c, { params: { id } }) => {
    const token = await authenticate(c, deps);
    await removePublisher(deps, id, token, callerOf(c, token).origin);
    return c.body(null, 204);
  });

  serveRoute(app, ROUTES.oidcAudience, async (c) =>
    c.json({ audience: registryAudience(deps) }, 200, NO_STORE),
  );

  serveRoute(app, ROUTES.exchangeToken, async (c) => {
    // A signature cannot be guessed, so a refused one is no failed login: a job whose settings are wrong does not lock
    // out the others behind its address.
    const exchanged = await exchangeToken(deps, await readJsonBody(c, ExchangeRequest), requestOrigin(c));
    const { groups, expiresAt } = exchanged.token;
    const result: ExchangedToken = { token: exchanged.secret, expiresAt: expiresAt!, publishes: groups };
    return c.json(result, 201, NO_STORE);
  });
}

function publisherDetail({ keys, ...publisher }: PublisherRecord): TrustedPublisher {
  return { ...publisher, hasKeys: keys !== undefined };
}
