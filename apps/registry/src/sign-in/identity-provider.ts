/**
 * Sign-in of people with an identity provider: OpenID Connect Core 1.0, authorization code flow with PKCE (RFC 7636),
 * `state`, `nonce`, and the `iss` parameter of RFC 9207.
 *
 * `openid-client` makes requests and checks responses; this module chooses the rules: the configuration must name the
 * configured issuer, ID tokens must have an asymmetric signature that the keys of the provider verify, and every
 * request goes through the guarded HTTP client of the registry (provider-http.ts). What a provider says about a user is
 * hostile (read-user-claims.ts). Failures are explained (explain-failure.ts). What a browser brings back belongs to a
 * flow of that browser (sign-in-flow.ts).
 *
 * @module
 */

import { type JsonObject, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { Configuration, IDToken, ServerMetadata, TokenEndpointResponse } from 'openid-client';
import { fetchConfiguration } from '../trusted-publishers/issuer-configuration.js';
import {
  explainFailure,
  ProviderRefusal,
  refused,
  refusesClient,
  tokenProblem,
  unavailable,
} from './explain-failure.js';
import type { ProviderFetch } from './provider-http.js';
import type { ProviderSettings } from './provider-settings.js';
import { type ConfirmedUser, isComplete, readUserClaims } from './read-user-claims.js';

/** Milliseconds after which the configuration of a provider is fetched again. */
const FRESH_MILLISECONDS = 600_000;
/** Milliseconds between two attempts after a failure. */
const COOLDOWN_MILLISECONDS = 10_000;
/** Algorithms that only the provider can sign with. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** What a configuration must have, and what it can have. */
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'];
const MORE_ENDPOINTS = ['userinfo_endpoint', 'end_session_endpoint'];
const DEFAULT_SCOPES = ['openid', 'profile', 'email'];
const OFFLINE = 'offline_access';
/** Providers that give refresh tokens for offline use only, and do not name that scope in what they granted. */
const OFFLINE_ONLY =
  /^https:\/\/(?:accounts\.google\.com|login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn)(?:\/|$)/;
const GOOGLE = 'https://accounts.google.com';
/** Length of a token of the provider that a session stores. */
const MAX_TOKEN_LENGTH = 16_384;

/** What only the browser that began to sign in knows. */
export interface FlowSecrets {
  state: string;
  nonce: string;
  /** Of PKCE. */
  verifier: string;
}

/** What a provider gave for a user. */
export interface ProviderTokens {
  /** Absent if the provider gives none: it cannot be asked again. */
  refreshToken?: string;
  /** For signing out at the provider. */
  idToken?: string;
  /** Whether the refresh token is good also after the user signed out at the provider. */
  isOffline?: boolean;
}

export interface Confirmation {
  user: ConfirmedUser;
  tokens: ProviderTokens;
}

/** The provider confirmed a user whose claims cannot be read, and gave tokens. */
export class UnreadUser extends KrmhubError {
  /** Private, because the log has every field of an error. */
  readonly #tokens: ProviderTokens;

  constructor({ code, message, hint, cause }: KrmhubError, tokens: ProviderTokens) {
    super(code, message, defined({ hint, cause }));
    this.#tokens = tokens;
  }

  get tokens(): ProviderTokens {
    return this.#tokens;
  }
}

interface Known {
  metadata: ServerMetadata;
  configs: Configuration[];
}

/** An identity provider. Every method rejects with `unavailable` if it is away, and with `unauthorized` if it refuses. */
export class IdentityProvider {
  readonly settings: ProviderSettings;
  readonly #fetch: ProviderFetch;
  readonly #redirectUri: string;
  readonly #clock: () => Date;
  #known: Known | undefined;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #problem: unknown;
  #fetching: Promise<void> | undefined;

  constructor(
    settings: ProviderSettings,
    context: { fetch: ProviderFetch; redirectUri: string; clock: () => Date },
  ) {
    this.settings = settings;
    this.#fetch = context.fetch;
    this.#redirectUri = context.redirectUri;
    this.#clock = context.clock;
  }

  /** Returns where a browser signs in. */
  async authorizationUrl({ state, nonce, verifier }: FlowSecrets): Promise<URL> {
    const known = await this.#configuration();
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
    // It knows no scope for that, and gives a refresh token only when it asks for consent.
    const offline = this.settings.issuer === GOOGLE ? { access_type: 'offline', prompt: 'consent' } : {};
    return buildAuthorizationUrl(known.configs[0]!, {
      ...offline,
      redirect_uri: this.#redirectUri,
      scope: this.#scopes(known).join(' '),
      code_challenge: await calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    });
  }

  /** Returns who signed in. `query` is what the browser brought back. */
  async finish(query: URLSearchParams, { state, nonce, verifier }: FlowSecrets): Promise<Confirmation> {
    const url = new URL(`${this.#redirectUri}?${query}`);
    const checks = {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    };
    const confirmation = await this.#confirm(async (config) => {
      const { authorizationCodeGrant } = await import('openid-client');
      return authorizationCodeGrant(config, url, checks);
    });
    const { user, tokens, granted } = confirmation;
    // A response without scopes grants those that were asked for (RFC 6749, section 5.1).
    const scopes = granted?.split(' ') ?? this.#scopes(await this.#configuration());
    const isOffline = scopes.includes(OFFLINE) || OFFLINE_ONLY.test(this.settings.issuer);
    return { user, tokens: { ...tokens, isOffline } };
  }

  #scopes({ metadata }: Known): readonly string[] {
    const listed = metadata.scopes_supported?.includes(OFFLINE) === true;
    return this.settings.scopes ?? (listed ? [...DEFAULT_SCOPES, OFFLINE] : DEFAULT_SCOPES);
  }

  /** Asks the provider again about a user. Rejects with `unauthorized` if it knows the user no more. */
  async refresh(refreshToken: string, subject: string): Promise<Confirmation> {
    const { user, tokens } = await this.#confirm(async (config) => {
      const { refreshTokenGrant } = await import('openid-client');
      return refreshTokenGrant(config, refreshToken);
    });
    if (user.subject !== subject) {
      const what = `${this.settings.name} confirmed another user than the one who signed in`;
      throw new ProviderRefusal(what, { isOfUser: true });
    }
    return { user, tokens: { refreshToken, ...tokens } };
  }

  /** Returns where a browser signs out at the provider; undefined if the provider has no such page. */
  async endSessionUrl(idToken: string | undefined): Promise<URL | undefined> {
    const { configs, metadata } = await this.#configuration();
    if (metadata.end_session_endpoint === undefined) return undefined;
    const { buildEndSessionUrl } = await import('openid-client');
    return buildEndSessionUrl(configs[0]!, idToken === undefined ? {} : { id_token_hint: idToken });
  }

  async #confirm(
    ask: (config: Configuration) => Promise<TokenEndpointResponse & { claims(): IDToken | undefined }>,
  ): Promise<Confirmation & { granted: string | undefined }> {
    const known = await this.#configuration();
    let tokens: ProviderTokens | undefined;
    try {
      const response = await this.#grant(known, ask);
      tokens = storedTokens(response);
      const idToken = response.claims();
      const problem = idToken && tokenProblem(idToken, this.settings.clientId, new Date());
      if (problem !== undefined) throw refused(this.settings, problem.why, problem.hint);
      const claims = await this.#claims(known, idToken, response.access_token);
      return { user: readUserClaims(claims, this.settings), tokens, granted: response.scope };
    } catch (error) {
      const explained = explainFailure(error, this.settings);
      // The refresh token that was used may be good no more.
      throw tokens === undefined ? explained : new UnreadUser(explained, tokens);
    }
  }

  /**
   * A client authenticates in one of two ways, and many providers list both, although a client must use the one that
   * was chosen there. As the libraries of Go do, the second is tried if the first is refused.
   */
  async #grant<Response>(known: Known, ask: (config: Configuration) => Promise<Response>): Promise<Response> {
    const [first, second] = known.configs;
    try {
      return await ask(first!);
    } catch (error) {
      if (second === undefined || !refusesClient(error)) throw error;
      const response = await ask(second);
      known.configs.reverse();
      return response;
    }
  }

  /** Returns the claims of the ID token, with those that only the userinfo endpoint has. */
  async #claims({ configs, metadata }: Known, idToken: IDToken | undefined, accessToken: string) {
    const claims = idToken as JsonObject | undefined;
    const hasInfo = metadata.userinfo_endpoint !== undefined;
    if (claims !== undefined && (isComplete(claims, this.settings.groupsClaim) || !hasInfo)) return claims;
    if (!hasInfo)
      throw refused(this.settings, 'it confirmed a user without an ID token and without userinfo');
    const client = await import('openid-client');
    const config = configs[0]!;
    const subject = idToken?.sub ?? client.skipSubjectCheck;
    const info = await client.fetchUserInfo(config, accessToken, subject);
    return { ...info, ...claims } as JsonObject;
  }

  /** An older configuration is used while a newer one cannot be had. */
  async #configuration(): Promise<Known> {
    const now = this.#clock().getTime();
    const isFresh = now - this.#fetchedAt < FRESH_MILLISECONDS;
    if (this.#fetching !== undefined || (!isFresh && now - this.#triedAt >= COOLDOWN_MILLISECONDS)) {
      this.#fetching ??= this.#discover(now).finally(() => {
        this.#fetching = undefined;
      });
      await this.#fetching;
    }
    if (this.#known === undefined) throw this.#problem;
    return this.#known;
  }

  async #discover(now: number): Promise<void> {
    this.#triedAt = now;
    try {
      const found = await fetchConfiguration(this.settings.issuer, this.#fetch.file);
      this.#known = await this.#prepare(found);
      this.#fetchedAt = now;
    } catch (error) {
      this.#problem = unavailable(this.settings, error);
    }
  }

  async #prepare(found: JsonObject): Promise<Known> {
    const protocols = this.settings.issuer.startsWith('http:') ? ['https:', 'http:'] : ['https:'];
    for (const name of [...ENDPOINTS, ...MORE_ENDPOINTS]) {
      const url = found[name];
      if (url === undefined && MORE_ENDPOINTS.includes(name)) continue;
      const { protocol } = (typeof url === 'string' && parseUrl(url)) || {};
      if (!protocols.some((one) => one === protocol))
        throw new Error(`its configuration has no valid ${name}`);
    }
    const listed = found.id_token_signing_alg_values_supported ?? ['RS256'];
    const algorithms = ALGORITHMS.filter((name) => Array.isArray(listed) && listed.includes(name));
    if (algorithms.length === 0) throw new Error(`it signs ID tokens with none of ${ALGORITHMS.join(', ')}`);
    const metadata = {
      ...found,
      id_token_signing_alg_values_supported: algorithms,
    } as unknown as ServerMetadata;
    const client = await import('openid-client');
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const ways = Object.entries({
      client_secret_basic: client.ClientSecretBasic,
      client_secret_post: client.ClientSecretPost,
    }).flatMap(([name, create]) => (methods.includes(name) ? [create(this.settings.clientSecret)] : []));
    if (ways.length === 0) throw new Error('it lists neither client_secret_basic nor client_secret_post');
    const configs = ways.map((authenticate) => {
      const config = new client.Configuration(metadata, this.settings.clientId, undefined, authenticate);
      config[client.customFetch] = this.#fetch.request;
      client.enableNonRepudiationChecks(config);
      if (this.settings.issuer.startsWith('http:')) client.allowInsecureRequests(config);
      return config;
    });
    return { metadata, configs };
  }
}

function storedTokens({ refresh_token, id_token }: TokenEndpointResponse): ProviderTokens {
  const stored = (token: string | undefined) =>
    token !== undefined && token.length <= MAX_TOKEN_LENGTH ? token : undefined;
  return defined({ refreshToken: stored(refresh_token), idToken: stored(id_token) });
}
