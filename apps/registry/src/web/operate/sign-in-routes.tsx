import { createRoute, z } from '@hono/zod-openapi';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { RegistryApp } from '../../http/context.js';
import type { SignInProviders } from '../../sign-in/sign-in-providers.js';
import { SIGN_IN, SIGN_OUT } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { localPath } from './local-path.js';
import type { OperatorPages } from './operator-pages.js';
import { type PrivatePage, privateResponse } from './private-response.js';
import { checkForm, readForm } from './read-form.js';
import { refuseCrossOrigin } from './refuse-cross-origin.js';
import { type SignIn, SignInPage } from './sign-in-page.js';
import { SignedOutPage } from './signed-out-page.js';

const From = z.string().max(500, 'is longer than 500 characters').optional();

export const SIGN_IN_ROUTES = {
  signInPage: createRoute({
    method: 'get',
    path: SIGN_IN,
    request: { query: z.object({ from: From, ended: z.literal('true', 'is not true').optional() }) },
    responses: { 200: { description: 'A form for a token' } },
  }),
  signIn: createRoute({
    method: 'post',
    path: SIGN_IN,
    responses: { 303: { description: 'Signed in' } },
  }),
  signOut: createRoute({
    method: 'post',
    path: SIGN_OUT,
    responses: { 303: { description: 'Signed out' } },
  }),
} as const;

const SignInForm = z.object({ token: z.string('is missing'), from: From });

/** Returns the page on which users sign in. */
export function signInPage(
  { all }: SignInProviders,
  props: Omit<SignIn, 'providers'>,
  status?: PrivatePage['status'],
): PrivatePage {
  const providers = all.map(({ settings: { id, name } }) => ({ id, name }));
  return {
    head: { title: 'Sign in', path: SIGN_IN },
    body: <SignInPage {...props} providers={providers} />,
    ...defined({ status }),
  };
}

export function signInRoutes(
  app: RegistryApp,
  { site, signIn }: { site: Site; signIn: SignInProviders },
  pages: OperatorPages,
): void {
  servePage(app, SIGN_IN_ROUTES.signInPage, {}, async (c, { query }) => {
    const from = localPath(query.from);
    if ((await pages.operator(c)) !== undefined) return c.redirect(site.at(from), 303);
    return privateResponse(c, site, signInPage(signIn, { from, hasEnded: query.ended !== undefined }));
  });

  servePage(app, SIGN_IN_ROUTES.signIn, {}, async (c) => {
    // Without a session there is no form key, so only the origin can be checked.
    refuseCrossOrigin(c, site);
    c.set('attempt', { action: 'operator.sign-in', object: 'operate' });
    const { token, from: wanted } = checkForm(await readForm(c), SignInForm);
    const from = localPath(wanted);
    try {
      await pages.signIn(c, token.trim());
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'unauthorized') throw error;
      c.error = error;
      // 401 would have to name a scheme of HTTP authentication, and pages support none.
      return privateResponse(c, site, signInPage(signIn, { from, refused: error }, 403));
    }
    return c.redirect(site.at(from), 303);
  });

  pages.action(SIGN_IN_ROUTES.signOut, { form: z.object({}) }, async (c, _, operator) => {
    const atProvider = await pages.signOut(c, operator);
    if (atProvider === undefined) return c.redirect(site.at(SIGN_IN), 303);
    return privateResponse(c, site, {
      head: { title: 'Signed out', path: SIGN_OUT },
      body: <SignedOutPage {...atProvider} />,
    });
  });
}
