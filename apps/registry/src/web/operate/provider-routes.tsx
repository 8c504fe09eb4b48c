import { createRoute, z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import { SERVER_LIMITS } from '../../limits.js';
import type { Confirmation, IdentityProvider } from '../../sign-in/identity-provider.js';
import { beginFlow, readFlow, type SignInFlow } from '../../sign-in/sign-in-flow.js';
import { CALLBACK, OTHER_CALLBACK, type SignInProviders } from '../../sign-in/sign-in-providers.js';
import { SIGN_IN, signInPath } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { ContinuePage } from './continue-page.js';
import { localPath } from './local-path.js';
import type { OperatorPages } from './operator-pages.js';
import { privateResponse } from './private-response.js';
import { flowCookie } from './session-cookie.js';
import { signInPage } from './sign-in-routes.js';

export const PROVIDER_ROUTES = {
  startSignIn: createRoute({
    method: 'get',
    path: `${SIGN_IN}/{provider}/start`,
    request: {
      params: z.object({ provider: z.string() }),
      query: z.object({ from: z.string().max(500, 'is longer than 500 characters').optional() }),
    },
    responses: { 303: { description: 'Leads to the identity provider' } },
  }),
  finishSignIn: createRoute({
    method: 'get',
    path: CALLBACK,
    // Read as the provider sent it.
    request: { query: z.looseObject({}) },
    responses: { 200: { description: 'Signed in' } },
  }),
  finishOtherSignIn: createRoute({
    method: 'get',
    path: OTHER_CALLBACK,
    request: { params: z.object({ provider: z.string() }), query: z.looseObject({}) },
    responses: { 200: { description: 'Signed in' } },
  }),
} as const;

/** The routes of users who sign in with an identity provider. */
export function providerRoutes(
  app: RegistryApp,
  { site, signIn, clock }: { site: Site; signIn: SignInProviders; clock: () => Date },
  pages: OperatorPages,
): void {
  const cookie = flowCookie(site);
  const finishing = new Map<string, Promise<Confirmation>>();

  servePage(app, PROVIDER_ROUTES.startSignIn, {}, async (c, { params, query }) => {
    const provider = signIn.byId(params.provider);
    if (provider === undefined) {
      throw new KrmhubError('not-found', `identity provider ${params.provider} not found`, {
        hint: `Open ${SIGN_IN}, and choose one.`,
      });
    }
    const from = localPath(query.from);
    // Another site must not sign a user in without a click.
    if (c.req.header('sec-fetch-site') === 'cross-site') return c.redirect(site.at(signInPath(from)), 303);
    const now = clock().getTime();
    const flow = beginFlow({ provider: provider.settings.id, from, now });
    try {
      const url = await provider.authorizationUrl(flow);
      cookie.set(c, { text: flow.cookie, expires: now + SERVER_LIMITS.flowMilliseconds }, now);
      return c.redirect(url.href, 303);
    } catch (error) {
      return refuse(c, error, from);
    }
  });

  servePage(app, PROVIDER_ROUTES.finishSignIn, {}, (c) => land(c, signIn.byCallback(undefined)));
  servePage(app, PROVIDER_ROUTES.finishOtherSignIn, {}, (c, { params }) =>
    land(c, signIn.byCallback(params.provider)),
  );

  /** A browser comes back to the redirect URI of a provider. */
  const land = async (c: RegistryContext, provider: IdentityProvider | undefined): Promise<Response> => {
    const query = new URL(c.req.url).searchParams;
    const limits = c.get('limits');
    limits.refuseGuessing(c);
    c.set('attempt', { action: 'operator.sign-in', object: 'operate' });
    const flow = ownFlow(c, query);
    if (provider === undefined || flow?.provider !== provider.settings.id)
      return refuse(c, NOT_BEGUN, localPath(undefined));
    // Once only.
    cookie.clear(c);
    const to = localPath(flow.from);
    try {
      const name = await finish(c, provider, query, flow);
      const head = { title: 'Signed in', path: CALLBACK, next: to };
      return privateResponse(c, site, { head, body: <ContinuePage name={name} to={to} /> });
    } catch (error) {
      if (error instanceof KrmhubError && error.code === 'unauthorized') limits.countFailure(c, 'sign-in');
      return refuse(c, error, to);
    }
  };

  /** Returns the sign-in that this browser began, if the provider answers that one, and in time. */
  const ownFlow = (c: RegistryContext, query: URLSearchParams): SignInFlow | undefined => {
    const flow = readFlow(cookie.read(c) ?? '');
    if (flow === undefined || query.get('state') !== flow.state) return undefined;
    const age = clock().getTime() - flow.startedAt;
    return age < 0 || age >= SERVER_LIMITS.flowMilliseconds ? undefined : flow;
  };

  const finish = async (
    c: RegistryContext,
    provider: IdentityProvider,
    query: URLSearchParams,
    flow: SignInFlow,
  ): Promise<string> => {
    // A browser that asks twice at once must not use the code twice: the provider would take back what it gave.
    const key = `${flow.state} ${query}`;
    const work = finishing.get(key) ?? provider.finish(query, flow).finally(() => finishing.delete(key));
    finishing.set(key, work);
    const confirmation = await work;
    await pages.signInUser(c, provider, confirmation);
    return confirmation.user.name;
  };

  const refuse = (c: RegistryContext, error: unknown, from: string): Response => {
    if (!(error instanceof KrmhubError) || !REFUSALS.includes(error.code)) throw error;
    c.error = error;
    const status = error.code === 'unavailable' ? 503 : 403;
    return privateResponse(c, site, signInPage(signIn, { from, refused: error }, status));
  };
}

const REFUSALS = ['unauthorized', 'forbidden', 'unavailable'];

const NOT_BEGUN = new KrmhubError('unauthorized', 'this browser did not begin this sign-in', {
  hint: 'It took longer than 10 minutes, was used already, or was begun in another browser or under another address of the registry. Begin again.',
});
