import { LoginRequest, type LoginResult, LoginTokenRequest, type PendingLogin } from '@krmhub/api/model';
import { ROUTES } from '@krmhub/api/routes';
import { requestOrigin } from '../http/auth/caller.js';
import { RateLimit } from '../http/auth/rate-limit.js';
import { hashSecret } from '../http/auth/tokens.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { type PublicAddress, publicAddress } from '../http/public-address.js';
import { readJsonBody } from '../http/request-body.js';
import { TooManyRequests } from '../http/too-many-requests.js';
import { SERVER_LIMITS } from '../limits.js';
import { type DeviceLoginDeps, requestLogin, takeLoginToken } from '../sign-in/device-login.js';
import type { SignInProviders } from '../sign-in/sign-in-providers.js';

const NO_STORE = { 'Cache-Control': 'no-store' };
const SECONDS_PER_MINUTE = 60;
/** Time between two questions of a program that waits. */
const POLL_SECONDS = 5;

type LoginRoutesDeps = DeviceLoginDeps & {
  signIn: Pick<SignInProviders, 'all'>;
  /** Path of the page on which the user answers. */
  loginPage: string;
  config: PublicAddress;
};

/** Routes for programs that sign in as a user, who allows it on a page. */
export function loginRoutes(app: RegistryApp, deps: LoginRoutesDeps): void {
  const { config, clock } = deps;
  const polls = new RateLimit(
    'login-polls',
    SECONDS_PER_MINUTE / POLL_SECONDS,
    SERVER_LIMITS.maxCountedClients,
  );

  serveRoute(app, ROUTES.requestLogin, async (c) => {
    const { client } = await readJsonBody(c, LoginRequest);
    const { request, secret } = await requestLogin(deps, { client, address: c.get('client') });
    const { code, expiresAt } = request;
    const page = publicAddress(config, `${deps.loginPage}?${new URLSearchParams({ code })}`);
    const hasUsers = deps.signIn.all.length > 0;
    const result: PendingLogin = { code, secret, page, expiresAt, interval: POLL_SECONDS, hasUsers };
    return c.json(result, 201, NO_STORE);
  });

  serveRoute(app, ROUTES.loginToken, async (c) => {
    const { secret } = await readJsonBody(c, LoginTokenRequest);
    const allowance = polls.take(hashSecret(secret), clock().getTime());
    if (!allowance.allowed) {
      c.set('allowance', allowance);
      throw new TooManyRequests('too many questions about one login', allowance);
    }
    const token = await takeLoginToken(deps, secret, requestOrigin(c));
    if (token === undefined) {
      const result: LoginResult = { state: 'pending' };
      return c.json(result, 202, NO_STORE);
    }
    const result: LoginResult = { state: 'approved', token };
    return c.json(result, 200, NO_STORE);
  });
}
