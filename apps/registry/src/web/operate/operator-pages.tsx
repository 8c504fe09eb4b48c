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
import type { Act, TokenRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Authority } from '../../http/auth/authorize.js';
import {
  authenticateHash,
  authenticateSecret,
  authenticateUser,
  refuseLacking,
} from '../../http/auth/authorize.js';
import { callerOf } from '../../http/auth/caller.js';
import { hashSecret } from '../../http/auth/tokens.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { EndpointInput } from '../../http/endpoint.js';
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
import { type SessionCookie, sessionCookie } from './session-cookie.js';
import { belongsToSession, Sessions } from './sessions.js';

const HINT =
  'An administrator creates tokens with `krmhub token create`. The first token is in admin.token in the data folder.';

type Answer = PrivatePage | Response;

/** Options of a page that changes something. */
interface ActionOptions<Form extends z.ZodObject> {
  needs?: TokenScope;
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
  store: Authority['store'] & SessionStore;
  site: Site;
}

/** Serves pages for signed-in users only. They ignore Authorization, and other routes ignore their cookie. */
export class OperatorPages {
  readonly #app: RegistryApp;
  readonly #deps: OperatorPagesDeps;
  readonly #sessions: Sessions;
  readonly #cookie: SessionCookie;

  constructor(app: RegistryApp, deps: OperatorPagesDeps) {
    this.#app = app;
    this.#deps = deps;
    this.#sessions = new Sessions(deps.store);
    this.#cookie = sessionCookie(deps.site);
  }

  /** Serves a page that changes nothing. */
  page<Route extends RouteConfig>(
    route: Route,
    { needs }: { needs?: TokenScope },
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
          return handler(c, { ...input, form: checkForm(given, schema) }, operator);
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
        : authenticateHash(c, this.#deps, of.tokenHash, HINT));
      return { session, token, rules: this.#deps.access.rules };
    } catch (error) {
      if (!(error instanceof KrmhubError) || error.code !== 'unauthorized') throw error;
      await this.#sessions.end(id);
      this.#cookie.clear(c);
      return undefined;
    }
  }

  /** Starts a session. Rejects as `authenticateSecret` does. */
  async signIn(c: RegistryContext, secret: string): Promise<void> {
    const token = await authenticateSecret(c, this.#deps, secret, HINT);
    await this.#end(c);
    const act = this.#act(c, token);
    const session = await this.#sessions.begin({ tokenHash: hashSecret(secret) }, act, token);
    this.#cookie.set(c, session, Date.parse(act.at));
  }

  async signOut(c: RegistryContext, { token }: Operator): Promise<void> {
    await this.#end(c, this.#act(c, token));
    this.#cookie.clear(c);
  }

  async #end(c: RegistryContext, act?: Act): Promise<void> {
    const id = this.#cookie.read(c);
    if (id !== undefined) await this.#sessions.end(id, act);
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
    needs: TokenScope | undefined,
    work: () => Promise<Answer>,
  ): Promise<Response> {
    const framed = (page: PrivatePage) => {
      const body = (
        <Frame operator={operator} path={page.head.path}>
          {page.body}
        </Frame>
      );
      return privateResponse(c, this.#deps.site, { ...page, body });
    };
    try {
      if (needs !== undefined) refuseLacking(operator.rules, operator.token, needs);
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
