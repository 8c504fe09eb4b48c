/**
 * Operator pages under `/operate`, for users who sign in with a token of the registry.
 *
 * A session is a row of the database and a random number in a cookie; the row has the hash of both cookie and token,
 * and no rights. Each request checks the token as the API does, so a revocation ends the session at once.
 *
 * Sessions are not signed texts, because signing out could not end those. Their number has a limit (`maxSessions`).
 * Only these pages read the cookie, and they never read `Authorization`. A form must come from our own origin and carry
 * the key of its session; the sign-in form, which has no session yet, relies on the origin. Responses are private:
 * `no-store`, no other origin, and uncompressed, because they contain secrets.
 *
 * @module
 */

import type { RouteConfig, z } from '@hono/zod-openapi';
import type { TokenScope } from '@krmhub/api/token-scopes';
import { type Act, type TokenRecord, tokenActor, userLabel } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Authority } from '../../http/auth/authorize.js';
import {
  authenticateSecret,
  authenticateToken,
  authenticateUser,
  latestToken,
  recheckRight,
  refuseLacking,
} from '../../http/auth/authorize.js';
import { callerOf, requestOrigin } from '../../http/auth/caller.js';
import { hashSecret } from '../../http/auth/tokens.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { EndpointInput } from '../../http/endpoint.js';
import type { Confirmation, IdentityProvider } from '../../sign-in/identity-provider.js';
import type { SignInProviders } from '../../sign-in/sign-in-providers.js';
import { confirmUser, type SignInDeps } from '../../sign-in/sign-ins.js';
import type { SessionStore } from '../../store/session-store.js';
import { signInPath } from '../addresses.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import { ForbiddenPage } from './forbidden-page.js';
import { FORM_KEY } from './form-key.js';
import { Frame } from './frame.js';
import { NotSignedInPage } from './not-signed-in-page.js';
import type { Operator } from './operator.js';
import { type PrivatePage, privateResponse } from './private-response.js';
import { checkForm, readForm } from './read-form.js';
import { refuseCrossOrigin } from './refuse-cross-origin.js';
import { type OwnCookie, sessionCookie } from './session-cookie.js';
import { belongsToSession, type Sessions } from './sessions.js';

const HINT =
  'An administrator creates tokens with `krmhub token create`. The first token is in admin.token in the data folder.';

type Answer = PrivatePage | Response;

interface PageOptions {
  /** The right for the whole registry that the page needs, of all or of this operator. */
  needs?: Needs;
}

type Needs = TokenScope | ((operator: Operator) => TokenScope | undefined);

/** Options of a page that changes something. */
interface ActionOptions<Form extends z.ZodObject> extends PageOptions {
  /** Fields of the form, in addition to the key of the session. */
  form: Form;
  maxBytes?: number;
  /** Renders the response to a form of an earlier session, and changes nothing. Without it, the form is refused. */
  stale?(
    c: RegistryContext,
    input: { params: unknown; form: z.output<Form> },
    operator: Operator,
  ): Promise<Answer>;
}

export interface OperatorPagesDeps extends Authority {
  store: Authority['store'] & SessionStore & SignInDeps['store'];
  signIn: SignInProviders;
  sessions: Sessions;
  site: Site;
}

/** Serves pages for signed-in users only. They ignore Authorization, and other routes ignore their cookie. */
export class OperatorPages {
  readonly #app: RegistryApp;
  readonly #deps: OperatorPagesDeps;
  readonly #sessions: Sessions;
  readonly #cookie: OwnCookie;

  constructor(app: RegistryApp, deps: OperatorPagesDeps) {
    this.#app = app;
    this.#deps = deps;
    this.#sessions = deps.sessions;
    this.#cookie = sessionCookie(deps.site);
  }

  /** Serves a page that changes nothing. */
  page<Route extends RouteConfig>(
    route: Route,
    { needs }: PageOptions,
    handler: (c: RegistryContext, input: EndpointInput<Route>, operator: Operator) => Promise<Answer>,
  ): void {
    servePage(this.#app, route, {}, async (c, input) => {
      const operator = await this.operator(c);
      if (operator === undefined) return this.#toSignIn(c);
      return this.#respond(c, operator, needs, () => handler(c, input, operator));
    });
  }

  /** Serves a form that changes something. */
  action<Route extends RouteConfig, Form extends z.ZodObject>(
    route: Route,
    { needs, form: schema, maxBytes, stale }: ActionOptions<Form>,
    handler: (
      c: RegistryContext,
      input: EndpointInput<Route> & { form: z.output<Form> },
      operator: Operator,
    ) => Promise<Answer>,
  ): void {
    servePage(this.#app, route, { rateLimitClass: 'write' }, async (c, input) => {
      const { site } = this.#deps;
      refuseCrossOrigin(c, site);
      const operator = await this.operator(c);
      // The body is not read: anyone could send it.
      if (operator === undefined) return privateResponse(c, site, notSignedIn(c));
      return this.#respond(c, operator, needs, async () => {
        const given = await readForm(c, maxBytes);
        const key = given.getAll(FORM_KEY);
        given.delete(FORM_KEY);
        if (key.length === 1 && belongsToSession(operator.session, key[0]!)) {
          const rules = this.#deps.access.rules;
          const current = { ...operator, token: latestToken(c, operator.token), rules };
          return handler(c, { ...input, form: checkForm(given, schema) }, current);
        }
        if (stale !== undefined) return stale(c, { ...input, form: checkForm(given, schema) }, operator);
        throw new KrmhubError('forbidden', 'nothing was changed: the form belongs to an earlier session', {
          hint: 'Reload the page, and submit the form again.',
        });
      });
    });
  }

  /** Returns the signed-in operator. If the session has ended, returns undefined and deletes the cookie. */
  async operator(c: RegistryContext): Promise<Operator | undefined> {
    const id = this.#cookie.read(c);
    if (id === undefined) return undefined;
    const session = await this.#sessions.find(id, this.#now());
    if (session === undefined) {
      this.#cookie.clear(c);
      return undefined;
    }
    try {
      const { of } = session;
      const token = await ('user' in of
        ? authenticateUser(c, this.#deps, of)
        : authenticateToken(c, this.#deps, { hash: of.tokenHash, openSignIn: () => of.signIn }, HINT));
      return { session, token, rules: this.#deps.access.rules };
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'unauthorized') throw error;
      await this.#sessions.end(id);
      this.#cookie.clear(c);
      return undefined;
    }
  }

  /** Starts the session of a token. Rejects as `authenticateSecret` does. */
  async signIn(c: RegistryContext, secret: string): Promise<void> {
    const token = await authenticateSecret(c, this.#deps, secret, HINT);
    // It is in a service of others, and no person has it.
    if (!tokenActor(this.#deps.access.rules, token).isInside)
      throw new KrmhubError('unauthorized', 'the token of a directory signs nobody in', { hint: HINT });
    const act = this.#act(c, token);
    await this.#begin(c, { tokenHash: hashSecret(secret), signIn: c.get('signIn') }, act, token.expiresAt);
  }

  /** Starts the session of a user whom a provider confirmed. Rejects with `forbidden` for a suspended one. */
  async signInUser(
    c: RegistryContext,
    provider: IdentityProvider,
    confirmation: Confirmation,
  ): Promise<void> {
    const at = new Date(this.#now()).toISOString();
    const { maxUsers = 0 } = this.#deps.config;
    const limit = maxUsers === 0 ? undefined : maxUsers;
    const user = await confirmUser(this.#deps, provider, confirmation, {
      at: this.#now(),
      isSignIn: true,
      maxUsers: limit,
    }).catch((error: unknown) => {
      if (error instanceof KrmhubError && error.code === 'forbidden')
        this.#deps.log.warn(
          { issuer: confirmation.user.issuer, maxUsers },
          `a sign-in was refused: ${error.message}`,
        );
      throw error;
    });
    const name = userLabel(user);
    c.set('actor', { id: `user/${user.id}`, name });
    const act = { at, by: name, origin: { credential: `user/${user.id}`, ...requestOrigin(c) } };
    await this.#begin(c, { user: user.id, tokens: confirmation.tokens }, act);
  }

  /** Returns where a user can sign out at the provider, if it can be done. */
  async signOut(
    c: RegistryContext,
    { token, session }: Operator,
  ): Promise<{ provider: string; url: string } | undefined> {
    const provider = token.user && this.#deps.signIn.byIssuer(token.user.issuer);
    const idToken = provider && (await this.#sessions.idToken(session));
    await this.#sessions.end(session.id, this.#act(c, token));
    this.#cookie.clear(c);
    // A provider that is away must not keep anybody signed in here.
    const url = await provider?.endSessionUrl(idToken).catch(() => undefined);
    return provider && url && { provider: provider.settings.name, url: url.href };
  }

  async #begin(
    c: RegistryContext,
    of: Parameters<Sessions['begin']>[0],
    act: Act,
    expiresAt?: string,
  ): Promise<void> {
    const options = { expiresAt, replaces: this.#cookie.read(c) };
    const { id, expires } = await this.#sessions.begin(of, act, options);
    this.#cookie.set(c, { text: id, expires }, Date.parse(act.at));
  }

  #act(c: RegistryContext, token: TokenRecord): Act {
    return { at: new Date(this.#now()).toISOString(), ...callerOf(c, token) };
  }

  #toSignIn(c: RegistryContext): Response {
    const from = c.req.path + new URL(c.req.url).search;
    const hasEnded = this.#cookie.read(c) !== undefined;
    return c.redirect(this.#deps.site.at(signInPath(from, { hasEnded })), 303);
  }

  async #respond(
    c: RegistryContext,
    operator: Operator,
    needed: Needs | undefined,
    work: () => Promise<Answer>,
  ): Promise<Response> {
    const needs = typeof needed === 'function' ? needed(operator) : needed;
    const framed = (page: PrivatePage) => {
      const body = (
        <Frame operator={operator} path={page.head.path}>
          {page.body}
        </Frame>
      );
      return privateResponse(c, this.#deps.site, { ...page, body });
    };
    try {
      if (needs !== undefined) {
        refuseLacking(operator.rules, operator.token, needs);
        recheckRight(c, (again) => refuseLacking(this.#deps.access.rules, again, needs));
      }
      const response = await work();
      return response instanceof Response ? response : framed(response);
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'forbidden') throw error;
      const head = { title: 'Forbidden', path: c.req.path };
      return framed({ head, body: <ForbiddenPage error={error} needs={needs} />, status: 403 });
    }
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}

/** 401 would have to name a scheme of HTTP authentication, and pages support none. */
function notSignedIn(c: RegistryContext): PrivatePage {
  return { head: { title: 'Not signed in', path: c.req.path }, body: <NotSignedInPage />, status: 403 };
}
