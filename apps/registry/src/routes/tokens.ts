import type { z } from '@hono/zod-openapi';
import { type CreatedToken, CreateTokenRequest, LeakReport, type TokenList } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { ROUTES } from '@krmhub/api/routes';
import { KrmhubError } from '@krmhub/schema';
import { authenticate, authorise } from '../authorise.js';
import { serveRoute } from '../endpoint.js';
import type { RegistryApp, RegistryParts } from '../environment.js';
import { tokenDetail } from '../presentation.js';
import { publicAddress } from '../public-address.js';
import { readJsonBody } from '../request-body.js';
import { createToken, hashSecret, isTokenSecret } from '../tokens.js';

const NO_STORE = { 'Cache-Control': 'no-store' };
const GROUP_GLOB = /^[a-z0-9.*-]+$/;
const REPOSITORY_GLOB = /^[a-z0-9._/*-]+$/;

export function tokenRoutes(app: RegistryApp, parts: RegistryParts): void {
  const { store, clock, log } = parts;

  serveRoute(app, ROUTES.whoami, async (c) =>
    c.json(tokenDetail(await authenticate(c, parts)), 200, NO_STORE),
  );

  serveRoute(app, ROUTES.listTokens, async (c) => {
    await authorise(c, parts, 'admin');
    const result: TokenList = { tokens: (await store.tokens()).map(tokenDetail) };
    return c.json(result, 200, NO_STORE);
  });

  serveRoute(app, ROUTES.createToken, async (c) => {
    const { name: by } = await authorise(c, parts, 'admin');
    const wanted = await readJsonBody(c, CreateTokenRequest);
    refuseWrong(wanted.groups, GROUP_GLOB, 'group', 'Groups are like example.com');
    refuseWrong(wanted.repositories, REPOSITORY_GLOB, 'repository', 'Repositories are like team/catalog');
    refuseIdleLimits(wanted);
    // An administrator can create any token, so fewer groups would be no limit.
    if (wanted.scopes.includes('admin') && !wanted.groups.includes('*')) {
      throw new KrmhubError('invalid-request', 'The scope admin is for the whole registry', {
        hint: 'Leave the groups out, or the scope admin.',
      });
    }
    const { token, secret } = await createToken(store, wanted, { now: clock(), by });
    const result: CreatedToken = { ...tokenDetail(token), token: secret };
    const Location = publicAddress(parts.config, fillPath('token', { id: token.id }));
    return c.json(result, 201, { ...NO_STORE, Location });
  });

  serveRoute(app, ROUTES.reportLeak, async (c) => {
    const { token: secret } = await readJsonBody(c, LeakReport);
    if (!isTokenSecret(secret)) {
      throw new KrmhubError('invalid-request', 'This is no krmhub token, or not the whole of it', {
        hint: 'A token is krmhub_ and 72 hexadecimal digits.',
      });
    }
    const token = await store.tokenByHash(hashSecret(secret));
    // An answer that told known from unknown tokens would tell a finder what is worth trying.
    if (token !== undefined && token.revokedAt === undefined) {
      await store.revokeToken(token.id, clock().toISOString(), 'reported as leaked');
      log.warn(
        { requestId: c.get('requestId'), client: c.get('client'), tokenId: token.id, name: token.name },
        'token revoked: it was reported as leaked',
      );
    }
    return c.body(null, 204, NO_STORE);
  });

  serveRoute(app, ROUTES.revokeToken, async (c, { params: { id } }) => {
    await authorise(c, parts, 'admin');
    const token = await store.revokeToken(id, clock().toISOString());
    if (token === undefined) throw new KrmhubError('not-found', `There is no token ${id}`);
    return c.json(tokenDetail(token), 200, NO_STORE);
  });
}

function refuseWrong(globs: readonly string[], pattern: RegExp, what: string, example: string): void {
  const wrong = globs.filter((glob) => !pattern.test(glob)).map((glob) => JSON.stringify(glob));
  if (wrong.length === 0) return;
  throw new KrmhubError('invalid-request', `${wrong.join(', ')}: no ${what} and no glob`, {
    hint: `${example}; \`*\` stands for any characters.`,
  });
}

/** A limit that no scope of the token looks at would be no limit, and its maker think otherwise. */
function refuseIdleLimits({ scopes, groups, repositories }: z.output<typeof CreateTokenRequest>): void {
  const limited = (globs: readonly string[]) => !globs.includes('*');
  if (limited(groups) && scopes.every((scope) => scope === 'push')) {
    throw new KrmhubError('invalid-request', 'Groups limit no token of the scope push alone', {
      hint: 'Give repositories for it, such as team/*, or the scope publish.',
    });
  }
  if (limited(repositories) && !scopes.includes('push')) {
    throw new KrmhubError('invalid-request', 'Repositories limit no token without the scope push', {
      hint: 'Give groups for it, such as example.com, or the scope push.',
    });
  }
  const functions = repositories.filter((glob) => glob.startsWith('functions/'));
  if (functions.length > 0) {
    throw new KrmhubError('invalid-request', `${functions.join(', ')}: the scope push is not for functions`, {
      hint: 'Give the scope publish and the group of the functions.',
    });
  }
}
