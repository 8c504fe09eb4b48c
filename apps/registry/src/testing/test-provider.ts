import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, exportJWK, generateKeyPair, type JWK } from 'jose';
import { type Configuration, errors, type KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ProviderSettings } from '../sign-in/provider-settings.js';
import { TestIssuer } from './test-issuer.js';

/** The library wants one; `signer` signs again. */
let ownKey: Promise<JWK> | undefined;

const CLIENT = { client_id: 'krmhub', client_secret: 'secret of the client' };

/** Returns the settings of a registry for this provider. */
export function signInSettings({ issuer, client }: TestProvider): ProviderSettings {
  return {
    id: 'test',
    name: 'Test',
    issuer,
    clientId: client.client_id,
    clientSecret: client.client_secret,
    groupsClaim: 'groups',
    subjectClaim: 'sub',
  };
}

export interface TestProviderOptions {
  redirectUri: string;
  /** Whether it gives refresh tokens; default: true. */
  refreshes?: boolean;
  /** Whether they are for offline use, and do not end with the session of the user there; default: false. */
  isOffline?: boolean;
  /** Claims that only the userinfo endpoint has; default: all but `sub`. */
  isIdTokenComplete?: boolean;
  /** More settings of `oidc-provider`. */
  configuration?: Configuration;
  /** Changes what is known of the client. */
  client?: Record<string, unknown>;
}

/**
 * An identity provider on this machine: `oidc-provider`, whose ID tokens a test can change, and which can be away. Refresh
 * tokens are used once: a second use ends what was granted.
 */
export class TestProvider {
  readonly issuer: string;
  readonly client = CLIENT;
  /** Signs the ID tokens, and has the keys. */
  readonly signer: TestIssuer;
  /** What it knows of each user, by `sub`. */
  readonly users = new Map<string, Record<string, unknown>>();
  /** Who signs in when a browser comes. */
  user = 'alice';
  isAway = false;
  /** Requests to the token endpoint, by grant type. */
  readonly grants: string[] = [];
  /** Changes the claims of the next ID tokens. */
  editClaims: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims;
  /** Changes the response of the token endpoint. */
  editTokens: (body: Record<string, unknown>) => Record<string, unknown> | Promise<Record<string, unknown>> =
    (body) => body;
  /** Responds instead of it, if it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server: Server;
  readonly #isOffline: boolean;
  #handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => undefined;

  private constructor(server: Server, signer: TestIssuer, isOffline: boolean) {
    this.#server = server;
    this.#isOffline = isOffline;
    this.signer = signer;
    this.issuer = signer.issuer;
  }

  static async start(options: TestProviderOptions): Promise<TestProvider> {
    const server = createServer((request, response) => {
      if (made.isAway) request.socket.destroy();
      else if (!made.intercept(request, response)) made.#handle(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const made = new TestProvider(server, await TestIssuer.create(issuer), options.isOffline === true);
    made.users.set('alice', { name: 'Alice Example', email: 'alice@example.com', groups: ['platform'] });
    ownKey ??= generateKeyPair('RS256', { extractable: true }).then(({ privateKey }) =>
      exportJWK(privateKey),
    );
    made.#configure(options, await ownKey);
    return made;
  }

  /** Signs a user in as a browser that was sent to `url`, and returns where the browser is sent then. */
  async signIn(url: string, user: string = this.user): Promise<URL> {
    this.user = user;
    const jar = new Map<string, string>();
    let at = new URL(url);
    for (let step = 0; step < 10; step++) {
      if (at.origin !== this.issuer) return at;
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        jar.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null)
        throw new Error(`the provider responded ${response.status}: ${await response.text()}`);
      at = new URL(location, at);
    }
    throw new Error('the provider redirects for ever');
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #configure(
    { redirectUri, refreshes = true, isIdTokenComplete = false, ...options }: TestProviderOptions,
    key: JWK,
  ): void {
    const provider = new Provider(this.issuer, {
      clients: [
        {
          ...CLIENT,
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', ...(refreshes ? ['refresh_token'] : [])],
          response_types: ['code'],
          ...options.client,
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email'] },
      conformIdTokenClaims: !isIdTokenComplete,
      findAccount: (_, id) => {
        const claims = this.users.get(id);
        return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) };
      },
      issueRefreshToken: async () => refreshes,
      rotateRefreshToken: true,
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      // Nobody is asked for consent.
      loadExistingGrant: async (ctx) => {
        const { client, session, params } = ctx.oidc;
        const grant = new ctx.oidc.provider.Grant({
          clientId: client!.clientId,
          accountId: session!.accountId!,
        });
        grant.addOIDCScope(String(params!.scope));
        await grant.save();
        return grant;
      },
      jwks: { keys: [key] },
      ...options.configuration,
    });
    provider.use((ctx, next) => this.#change(ctx as KoaContextWithOIDC, next));
    const callback = provider.callback();
    this.#handle = async (request, response) => {
      if (request.url === '/jwks') {
        this.signer.fetches += 1;
        response.setHeader('Content-Type', 'application/json');
        return response.end(JSON.stringify(this.signer.served ?? this.signer.keySet()));
      }
      if (request.url?.startsWith('/interaction/') !== true) return callback(request, response);
      try {
        return await provider.interactionFinished(request, response, { login: { accountId: this.user } });
      } catch (error) {
        const status = error instanceof errors.SessionNotFound ? 400 : 500;
        return response.writeHead(status).end(String(error));
      }
    };
  }

  /** Signs the ID token of a response with the keys of this provider. */
  async #change(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
    await next();
    if (ctx.oidc?.route !== 'token') return;
    this.grants.push(String(ctx.oidc.params?.grant_type));
    const body = ctx.body as Record<string, unknown>;
    if (typeof body.id_token !== 'string') return;
    const { jti: _, ...claims } = decodeJwt(body.id_token);
    const now = new Date();
    const id_token = await this.signer.sign(this.editClaims(claims), { now });
    const scope = this.#isOffline ? `${body.scope} offline_access` : body.scope;
    ctx.body = await this.editTokens({ ...body, scope, id_token });
  }
}
