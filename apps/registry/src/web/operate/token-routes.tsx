import { createRoute, z } from '@hono/zod-openapi';
import { CreateTokenRequest } from '@krmhub/api/model';
import { TokenId } from '@krmhub/api/parameters';
import type { TokenRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { TokenDeps } from '../../auth/issue-token.js';
import { issueToken, revokeToken } from '../../auth/issue-token.js';
import { tokenProblem } from '../../auth/tokens.js';
import { tokenDetail } from '../../http/presentation.js';
import { NEW_TOKEN, TOKENS } from '../addresses.js';
import type { Site } from '../site.js';
import { CreatedTokenPage, EMPTY_TOKEN, NewTokenPage, type TokenInput } from './new-token-page.js';
import { CHANGES } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { PageNumber } from './page-number.js';
import { paged } from './paged.js';
import type { PrivatePage } from './private-response.js';
import { RevokeTokenPage } from './revoke-token-page.js';
import { TokensPage, type TokenWithState } from './tokens-page.js';

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

const TokenForm = z.object({
  name: z.string('is missing'),
  scopes: z.array(z.string()).optional(),
  groups: z.string('is missing'),
  repositories: z.string('is missing'),
  expiresInDays: z.string('is missing'),
});

export interface TokenPageDeps extends TokenDeps {
  site: Site;
}

export function tokenPageRoutes(deps: TokenPageDeps, pages: OperatorPages): void {
  const { store, clock, site } = deps;
  const needs = CHANGES;

  const shown = (token: TokenRecord): TokenWithState => ({
    ...tokenDetail(token),
    state: tokenProblem(token, clock().toISOString()) ?? 'good',
  });

  pages.page(TOKEN_PAGE_ROUTES.tokensPage, { needs }, async (_, { query: { page, revoked } }) => {
    const all = (await store.tokens()).map(shown).reverse();
    // Usable tokens first, then newest first.
    const sorted = [...all.filter(isGood), ...all.filter((token) => !isGood(token))];
    const tokens = {
      tokens: paged(sorted, page),
      total: all.length,
      good: all.filter(isGood).length,
      revoked: all.find((token) => token.id === revoked),
    };
    return { head: { title: 'Tokens', path: TOKENS }, body: <TokensPage shown={tokens} /> };
  });

  pages.page(TOKEN_PAGE_ROUTES.newTokenPage, { needs }, async () => newToken(EMPTY_TOKEN));

  pages.action(TOKEN_PAGE_ROUTES.makeToken, { needs, form: TokenForm }, async (_, { form }, operator) => {
    const typed = { ...form, scopes: form.scopes ?? [] };
    try {
      const { token, secret } = await issueToken(deps, wantedToken(typed), operator.token.name);
      return {
        head: { title: 'Token', path: NEW_TOKEN },
        body: <CreatedTokenPage token={{ ...tokenDetail(token), token: secret }} />,
        status: 201,
      };
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'invalid-request') throw error;
      return newToken(typed, error);
    }
  });

  pages.page(TOKEN_PAGE_ROUTES.revokeTokenPage, { needs }, async (_, { params }) => {
    const all = (await store.tokens()).map(shown);
    const token = all.find((one) => one.id === params.id);
    if (token === undefined) throw new KrmhubError('not-found', `token ${params.id} not found`);
    const isLastAdmin =
      isGood(token) &&
      token.scopes.includes(CHANGES) &&
      !all.some((other) => other.id !== token.id && isGood(other) && other.scopes.includes(CHANGES));
    return {
      head: { title: `Revoke ${token.name}`, path: TOKENS },
      body: <RevokeTokenPage token={token} isLastAdmin={isLastAdmin} />,
    };
  });

  pages.action(TOKEN_PAGE_ROUTES.revokeTokenNow, { needs, form: z.object({}) }, async (c, { params }) => {
    const token = await revokeToken(deps, params.id);
    return c.redirect(site.at(`${TOKENS}?${new URLSearchParams({ revoked: token.id })}`), 303);
  });
}

function isGood({ state }: TokenWithState): boolean {
  return state === 'good';
}

function newToken(typed: TokenInput, problem?: KrmhubError): PrivatePage {
  return {
    head: { title: 'Create a token', path: NEW_TOKEN },
    body: <NewTokenPage typed={typed} problem={problem} />,
    ...(problem === undefined ? {} : { status: 400 }),
  };
}

/** Returns the request to the HTTP API; throws `invalid-request` with its messages. */
function wantedToken(typed: TokenInput): z.output<typeof CreateTokenRequest> {
  const globs = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  const result = CreateTokenRequest.safeParse({
    name: typed.name.trim(),
    scopes: typed.scopes,
    groups: globs(typed.groups),
    repositories: globs(typed.repositories),
    expiresInDays: /^\d{1,9}$/.test(typed.expiresInDays.trim()) ? Number(typed.expiresInDays) : Number.NaN,
  });
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new KrmhubError('invalid-request', problems.join('; '));
}
