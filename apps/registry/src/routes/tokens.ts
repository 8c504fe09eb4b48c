import { type CreatedToken, CreateTokenRequest, LeakReport, type TokenList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { rightsWithin, tokenActor } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Authority } from '../http/auth/authorize.js';
import { authenticate, latestToken, refuseLacking } from '../http/auth/authorize.js';
import { callerOf, requestOrigin } from '../http/auth/caller.js';
import type { TokenDeps } from '../http/auth/issue-token.js';
import { issueToken, refuseRevocation, revokeToken, visibleTokens } from '../http/auth/issue-token.js';
import { hashSecret, isTokenSecret } from '../http/auth/tokens.js';
import type { RegistryApp } from '../http/context.js';
import { serveRoute } from '../http/endpoint.js';
import { tokenDetail } from '../http/presentation.js';
import type { PublicAddress } from '../http/public-address.js';
import { publicAddress } from '../http/public-address.js';
import { readJsonBody } from '../http/request-body.js';

const NO_STORE = { 'Cache-Control': 'no-store' };

type TokenRoutesDeps = TokenDeps & Authority & { config: PublicAddress };

export function tokenRoutes(app: RegistryApp, deps: TokenRoutesDeps): void {
  const { store, clock, log } = deps;

  serveRoute(app, ROUTES.whoami, async (c) => {
    const token = await authenticate(c, deps);
    const { rules } = deps.access;
    const limits = tokenActor(rules, token);
    const teamRights = token.team === undefined ? undefined : rightsWithin(rules, token.team, limits);
    const { user } = token;
    const teams = user && rules.teamsOf(user).map((team) => ({ team, ...rightsWithin(rules, team, limits) }));
    const identity = { ...tokenDetail(token), ...defined({ teamRights, ssoGroups: user?.groups, teams }) };
    return c.json(identity, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.listTokens, async (c) => {
    const by = await authenticate(c, deps);
    const result: TokenList = { tokens: (await visibleTokens(deps, by)).map(tokenDetail) };
    return c.json(result, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.createToken, async (c) => {
    const first = await authenticate(c, deps);
    // Without a right, the body is not read.
    if (first.user === undefined) refuseLacking(deps.access.rules, first, 'admin');
    const wanted = await readJsonBody(c, CreateTokenRequest);
    const by = latestToken(c, first);
    const { token, secret } = await issueToken(deps, wanted, by, {
      ...callerOf(c, by),
      signIn: c.get('signIn'),
    });
    const result: CreatedToken = { ...tokenDetail(token), token: secret };
    const Location = publicAddress(deps.config, fillPath('token', { id: token.id }));
    return c.json(result, 201, { ...NO_STORE, Location });
  });

  serveRoute(app, ROUTES.reportLeak, async (c) => {
    const { token: secret } = await readJsonBody(c, LeakReport);
    if (!isTokenSecret(secret)) {
      throw new KrmhubError('invalid-request', 'not a complete krmhub token', {
        hint: 'A token consists of krmhub_ and 72 hexadecimal digits.',
      });
    }
    const token = await store.tokenByHash(hashSecret(secret));
    // The same response for known and unknown tokens: otherwise it would tell the finder which token works.
    if (token !== undefined && token.revokedAt === undefined) {
      const origin = requestOrigin(c);
      await store.revokeToken(token.id, clock().toISOString(), { reason: 'reported as leaked', origin });
      log.warn(
        { requestId: c.get('requestId'), client: c.get('client'), tokenId: token.id, name: token.name },
        'token revoked: it was reported as leaked',
      );
    }
    return c.body(null, 204, NO_STORE);
  });

  serveRoute(app, ROUTES.revokeToken, async (c, { params: { id } }) => {
    const by = await authenticate(c, deps);
    const own = (await visibleTokens(deps, by)).find((token) => token.id === id);
    // Who may not see a token is not told whether it exists.
    if (own === undefined) refuseLacking(deps.access.rules, by, 'admin');
    else refuseRevocation(deps.access, own, by);
    return c.json(tokenDetail(await revokeToken(deps, id, callerOf(c, by))), 200, NO_STORE);
  });
}
