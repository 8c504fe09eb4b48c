import { createRoute, z } from '@hono/zod-openapi';
import { TokenId } from '@krmhub/api/parameters';
import type { TokenRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { callerOf } from '../../http/auth/caller.js';
import type { TokenDeps } from '../../http/auth/issue-token.js';
import { issueToken, revokeToken, tokenDays, visibleTokens } from '../../http/auth/issue-token.js';
import { isSessionToken } from '../../http/auth/user-session.js';
import { tokenDetail } from '../../http/presentation.js';
import type { SessionStore } from '../../store/session-store.js';
import { createdTokenPath, NEW_TOKEN, TOKENS } from '../addresses.js';
import type { Site } from '../site.js';
import type { FieldProblems } from './field.js';
import { CreatedTokenPage, NewTokenPage, SecretGonePage } from './new-token-page.js';
import { OneTimeSecrets } from './one-time-secrets.js';
import { CHANGES, type Operator } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { PageNumber } from './page-number.js';
import { paged } from './paged.js';
import type { PrivatePage } from './private-response.js';
import { RevokeTokenPage } from './revoke-token-page.js';
import {
  emptyToken,
  refusedField,
  type TokenField,
  TokenForm,
  type TokenInput,
  wantedToken,
} from './token-form.js';
import { isGood, tokenWithState } from './token-state.js';
import { TokensPage } from './tokens-page.js';

const REVOKE = '/operate/tokens/{id}/revoke';
const id = { params: z.object({ id: TokenId }) };

export const TOKEN_PAGE_ROUTES = {
  tokensPage: createRoute({
    method: 'get',
    path: TOKENS,
    request: { query: z.object({ page: PageNumber, revoked: TokenId.optional() }) },
    responses: { 200: { description: 'Every token, without its secret' } },
  }),
  newTokenPage: createRoute({
    method: 'get',
    path: NEW_TOKEN,
    responses: { 200: { description: 'A form for a token' } },
  }),
  makeToken: createRoute({
    method: 'post',
    path: NEW_TOKEN,
    responses: { 303: { description: 'Created' } },
  }),
  createdTokenPage: createRoute({
    method: 'get',
    path: '/operate/tokens/{id}/created',
    request: id,
    responses: { 200: { description: 'The new token, shown once' } },
  }),
  revokeTokenPage: createRoute({
    method: 'get',
    path: REVOKE,
    request: id,
    responses: { 200: { description: 'The token to revoke' } },
  }),
  revokeTokenNow: createRoute({
    method: 'post',
    path: REVOKE,
    request: id,
    responses: { 303: { description: 'Revoked' } },
  }),
} as const;

export interface TokenPageDeps extends TokenDeps {
  store: TokenDeps['store'] & SessionStore;
  site: Site;
}

export function tokenPageRoutes(deps: TokenPageDeps, pages: OperatorPages): void {
  const { store, clock, site } = deps;
  const needs = CHANGES;
  const secrets = new OneTimeSecrets(store);
  const days = tokenDays(deps);

  const newToken = (typed: TokenInput, problems: FieldProblems<TokenField>): PrivatePage => ({
    head: { title: 'Create a token', path: NEW_TOKEN },
    body: <NewTokenPage typed={typed} maxDays={days.max} problems={problems} />,
    ...defined({ status: Object.keys(problems).length === 0 ? undefined : 400 }),
  });

  const shown = (token: TokenRecord) => tokenWithState(token, deps);
  // A personal token does not end the others of its user.
  const needsUnlessOwn = ({ token }: Operator) => (isSessionToken(token) ? undefined : needs);

  pages.page(
    TOKEN_PAGE_ROUTES.tokensPage,
    { needs: needsUnlessOwn },
    async (_, { query: { page, revoked } }, operator) => {
      const all = (await visibleTokens(deps, operator.token)).map(shown).reverse();
      // Usable tokens first, then newest first.
      const sorted = [...all.filter(isGood), ...all.filter((token) => !isGood(token))];
      const tokens = {
        tokens: paged(sorted, page),
        total: all.length,
        good: all.filter(isGood).length,
        revoked: all.find((token) => token.id === revoked),
      };
      return { head: { title: 'Tokens', path: TOKENS }, body: <TokensPage shown={tokens} /> };
    },
  );

  pages.page(TOKEN_PAGE_ROUTES.newTokenPage, { needs: needsUnlessOwn }, async () =>
    newToken(emptyToken(days.usual), {}),
  );

  const makes = { needs: needsUnlessOwn, form: TokenForm };
  pages.action(TOKEN_PAGE_ROUTES.makeToken, makes, async (c, { form }, operator) => {
    const typed = { ...form, scopes: form.scopes ?? [], isRobot: form.robot !== undefined };
    const result = wantedToken(typed);
    if ('problems' in result) return newToken(typed, result.problems);
    try {
      const { token, secret } = await issueToken(deps, result.wanted, operator.token, {
        ...callerOf(c, operator.token),
        signIn: c.get('signIn'),
      });
      await secrets.put(operator.session, { ...tokenDetail(token), token: secret }, clock().getTime());
      return c.redirect(site.at(createdTokenPath(token)), 303);
    } catch (error) {
      return newToken(typed, refusedField(error));
    }
  });

  pages.page(
    TOKEN_PAGE_ROUTES.createdTokenPage,
    { needs: needsUnlessOwn },
    async (c, { params }, operator) => {
      // HEAD shows nothing, so it takes nothing.
      const token =
        c.req.method === 'HEAD'
          ? undefined
          : await secrets.take(operator.session, params.id, clock().getTime());
      return {
        head: { title: 'Token', path: NEW_TOKEN },
        body: token === undefined ? <SecretGonePage /> : <CreatedTokenPage token={token} />,
      };
    },
  );

  pages.page(
    TOKEN_PAGE_ROUTES.revokeTokenPage,
    { needs: needsUnlessOwn },
    async (_, { params }, operator) => {
      const all = (await visibleTokens(deps, operator.token)).map(shown);
      const token = all.find((one) => one.id === params.id);
      if (token === undefined) throw unknownToken(params.id);
      const isLastAdmin =
        isGood(token) &&
        token.scopes.includes(CHANGES) &&
        !all.some((other) => other.id !== token.id && isGood(other) && other.scopes.includes(CHANGES));
      return {
        head: { title: `Revoke ${token.name}`, path: TOKENS },
        body: <RevokeTokenPage token={token} isLastAdmin={isLastAdmin} />,
      };
    },
  );

  pages.action(
    TOKEN_PAGE_ROUTES.revokeTokenNow,
    { needs: needsUnlessOwn, form: z.object({}) },
    async (c, { params }, operator) => {
      const all = await visibleTokens(deps, operator.token);
      if (!all.some((token) => token.id === params.id)) throw unknownToken(params.id);
      const token = await revokeToken(deps, params.id, callerOf(c, operator.token));
      return c.redirect(site.at(`${TOKENS}?${new URLSearchParams({ revoked: token.id })}`), 303);
    },
  );
}

function unknownToken(id: string): KrmhubError {
  return new KrmhubError('not-found', `token ${id} not found`);
}
