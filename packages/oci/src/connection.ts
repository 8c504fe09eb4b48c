import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import {
  basicAuthorization,
  buildTokenRequest,
  type Challenge,
  type Credentials,
  readChallenge,
  readToken,
} from './auth.js';
import {
  failureCode,
  IDLE_TIMEOUT,
  loginHint,
  readRegistryErrors,
  TEMPORARY_STATUSES,
  TooManyRedirects,
  temporaryFailure,
  unreachableError,
} from './connection-errors.js';

export interface ConnectionOptions {
  /** Returns the stored credentials, for example of `docker login`, for a host and port. */
  credentials(registry: string): Promise<Credentials | undefined>;
  /** Called if a registry, or its token service, refuses the credentials themselves. */
  onRefused?(registry: string, credentials: Credentials): Promise<void>;
  /** Whether to connect without TLS. */
  plainHttp(registry: string): boolean;
  /** For example an agent that connects through a proxy. Default: the global agent of Node.js. */
  agent?(url: URL): Promise<Agent | undefined>;
  userAgent: string;
  /** Timeout without any data. Default 60,000. */
  idleMilliseconds?: number;
  /** Redirects that are followed in a row. Default 5. */
  maxRedirects?: number;
  /** Aborts all requests. */
  signal?: AbortSignal;
}

/** Bytes that can be sent repeatedly, for retries. */
export interface Content {
  size: number;
  open(): AsyncIterable<Uint8Array>;
}

/** One HTTP request. */
interface Message {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  headers?: Record<string, string>;
  body?: Content;
}

export interface Exchange extends Message {
  /** Actions of the requested token scope; `catalog` is the list of repositories. */
  actions: 'pull' | 'pull,push' | 'catalog';
  /** Another repository to pull from. */
  alsoPull?: string;
  /** Other statuses are thrown as errors. */
  expected: readonly number[];
}

export interface RegistryResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** URL after redirects. */
  url: URL;
  /** Whether only this registry chose the URL: no redirect led to another origin. */
  isOwn: boolean;
  body: IncomingMessage;
}

const IDLE_MILLISECONDS = 60_000;
const MAX_REDIRECTS = 5;
/** Of what a client may not read, or of what is gone. */
const REFUSALS: readonly number[] = [401, 403, 404, 410];
const MAX_ERROR_BYTES = 65_536;
const MAX_TOKEN_BYTES = 1_048_576;
/** An authenticated HTTP connection to one registry. Rejects with KrmhubErrors only. */
export class Connection {
  readonly registry: string;
  readonly #options: ConnectionOptions;
  readonly #base: URL;
  /** Tokens by scope. */
  readonly #tokens = new Map<string, { header: string; until: number }>();
  #challenge: Challenge | undefined;
  #credentials: Promise<Credentials | undefined> | undefined;

  constructor(registry: string, options: ConnectionOptions) {
    this.registry = registry;
    this.#options = options;
    const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
    this.#base = new URL(`${options.plainHttp(registry) ? 'http' : 'https'}://${host}/v2/`);
  }

  /**
   * `target` is a path below `/v2/<repository>/`, or below `/v2/` for an empty repository, or a URL from a response of
   * the registry.
   */
  async send(repository: string, target: string | URL, exchange: Exchange): Promise<RegistryResponse> {
    const path = repository === '' ? target : `${repository}/${target}`;
    const url = target instanceof URL ? target : new URL(path, this.#base);
    // The scope of the list of repositories is that of Docker ("Registry Token Authentication").
    const scopes =
      exchange.actions === 'catalog'
        ? ['registry:catalog:*']
        : [`repository:${repository}:${exchange.actions}`];
    if (exchange.alsoPull !== undefined) scopes.push(`repository:${exchange.alsoPull}:pull`);
    let authorization = await this.#authorization(scopes);
    let response = await this.#follow(url, exchange, authorization);
    // Another origin must not get the credentials of this registry, nor choose where they are sent.
    if (response.status === 401 && response.isOwn) {
      const challenge = readChallenge(response.headers['www-authenticate']);
      if (challenge !== undefined && (authorization === undefined || challenge.scheme === 'bearer')) {
        this.#challenge = challenge;
        this.#tokens.delete(scopes.join(' '));
        const renewed = await this.#authorization(scopes).catch((error: unknown) => {
          // An unread body would keep the process alive.
          response.body.destroy();
          throw error;
        });
        if (renewed !== undefined && renewed !== authorization) {
          response.body.destroy();
          authorization = renewed;
          response = await this.#follow(url, exchange, authorization);
        }
      }
    }
    if (exchange.expected.includes(response.status)) return response;
    // An access token lacks a right, but a password is refused.
    if (response.status === 401 && response.isOwn && authorization?.startsWith('Basic ') === true)
      await this.#reportRefused();
    throw await this.#failure(response, repository, exchange);
  }

  /** Returns the URL in the Location header. */
  resolveLocation(response: Pick<RegistryResponse, 'status' | 'headers' | 'url'>): URL {
    const { location } = response.headers;
    const url = location === undefined ? undefined : parseUrl(location, response.url);
    if (url !== undefined) return url;
    throw this.#unexpected(`it responded with ${response.status}, but without a valid Location header`);
  }

  async #authorization(scopes: readonly string[]): Promise<string | undefined> {
    const challenge = this.#challenge;
    if (challenge === undefined) return undefined;
    this.#credentials ??= this.#options.credentials(this.registry);
    const credentials = await this.#credentials;
    if (challenge.scheme === 'basic') {
      return credentials !== undefined && 'username' in credentials
        ? basicAuthorization(credentials)
        : undefined;
    }
    const name = scopes.join(' ');
    const known = this.#tokens.get(name);
    if (known !== undefined && known.until > performance.now()) return known.header;
    const { token, milliseconds } = await this.#fetchToken(challenge, scopes, credentials);
    // Do not use a token that expires while the request is sent.
    const until = performance.now() + Math.max(milliseconds - 10_000, milliseconds / 2);
    const header = `Bearer ${token}`;
    this.#tokens.set(name, { header, until });
    return header;
  }

  async #fetchToken(
    challenge: Challenge & { scheme: 'bearer' },
    scopes: readonly string[],
    credentials: Credentials | undefined,
  ): Promise<{ token: string; milliseconds: number }> {
    const { url, authorization, form } = buildTokenRequest(challenge, {
      scopes,
      credentials,
      registry: this.#base,
      name: this.registry,
    });
    const bytes = form && new TextEncoder().encode(form.toString());
    const response = await this.#exchange(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: defined({
        Authorization: authorization,
        'Content-Type': form === undefined ? undefined : 'application/x-www-form-urlencoded',
      }),
      ...defined({ body: bytes === undefined ? undefined : toContent(bytes) }),
    });
    const text = await readLimitedText(response.body, MAX_TOKEN_BYTES);
    if (response.status === 200 && text !== undefined) return readToken(text);
    const refused = response.status === 401 || response.status === 403 || response.status === 400;
    const { messages } = readRegistryErrors(text ?? '');
    const what = `the token service of ${this.registry} responded with ${response.status}${messages === '' ? '' : `: ${messages}`}`;
    if (TEMPORARY_STATUSES.has(response.status)) throw temporaryFailure(what, response.headers);
    // An identity token that is not valid is an error of the request (RFC 6749, section 5.2).
    if (response.status === 401 || (response.status === 400 && form !== undefined))
      await this.#reportRefused();
    throw new KrmhubError(refused ? 'unauthorized' : 'unreachable', what, {
      hint: loginHint(this.registry, credentials !== undefined),
      isRefusal: refused,
    });
  }

  async #reportRefused(): Promise<void> {
    const credentials = await this.#credentials;
    if (credentials !== undefined) await this.#options.onRefused?.(this.registry, credentials);
  }

  /**
   * Follows redirects of GET and HEAD. Other origins do not get the Authorization header, and after one, not even this
   * registry does: the other one chose the target.
   */
  async #follow(
    first: URL,
    exchange: Exchange,
    authorization: string | undefined,
  ): Promise<RegistryResponse> {
    let url = first;
    let isOwn = true;
    for (let redirects = 0; ; redirects++) {
      isOwn &&= url.origin === this.#base.origin;
      const response = await this.#exchange(url, {
        ...exchange,
        headers: {
          ...exchange.headers,
          ...defined({ Authorization: isOwn ? authorization : undefined }),
        },
      });
      if (response.status < 300 || response.status >= 400) return { ...response, isOwn };
      response.body.destroy();
      if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
        throw this.#unexpected(
          `it redirects ${exchange.method} to ${printable(response.headers.location ?? '')}`,
        );
      }
      const { maxRedirects = MAX_REDIRECTS } = this.#options;
      if (redirects >= maxRedirects) {
        throw new TooManyRedirects(
          'unreachable',
          `unexpected response from ${this.registry}: more than ${maxRedirects} redirects`,
        );
      }
      url = this.resolveLocation(response);
    }
  }

  async #exchange(url: URL, { method, headers, body }: Message): Promise<Omit<RegistryResponse, 'isOwn'>> {
    if (!/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
      throw this.#unexpected(`it points to ${printable(url.href)}, which is not a valid URL`);
    }
    if (this.#base.protocol === 'https:' && url.protocol !== 'https:') {
      throw this.#unexpected(`it points to ${printable(url.origin)}, which does not use TLS`);
    }
    const agent = await this.#options.agent?.(url);
    const idle = this.#options.idleMilliseconds ?? IDLE_MILLISECONDS;
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, {
      method,
      agent,
      timeout: idle,
      signal: this.#options.signal,
      headers: {
        'User-Agent': this.#options.userAgent,
        ...defined({ 'Content-Length': body === undefined ? emptyLength(method) : String(body.size) }),
        ...headers,
      },
    });
    request.on('timeout', () => {
      request.destroy(
        Object.assign(new Error(`no data for ${idle / 1_000} seconds`), { code: IDLE_TIMEOUT }),
      );
    });
    const responsePromise = new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', reject);
    });
    responsePromise.catch(() => undefined);
    let readFailure: unknown;
    if (body === undefined) request.end();
    else {
      // A registry may reject a request before it has read the body. Its response is more useful than a broken pipe.
      pipeline(
        toReadable(body.open(), (error) => (readFailure = error)),
        request,
      ).catch(() => undefined);
    }
    try {
      const response = await responsePromise;
      return { status: response.statusCode ?? 0, headers: response.headers, url, body: response };
    } catch (error) {
      throw readFailure ?? unreachableError(url, error);
    }
  }

  async #failure(
    response: RegistryResponse,
    repository: string,
    { method, actions }: Exchange,
  ): Promise<KrmhubError> {
    const { status, headers } = response;
    const text =
      method === 'HEAD' ? '' : await readLimitedText(response.body, MAX_ERROR_BYTES).catch(() => '');
    response.body.destroy();
    const errors = readRegistryErrors(text ?? '');
    const { messages } = errors;
    const what = `${this.registry} responded with ${status}${messages === '' ? '' : `: ${messages}`}`;
    if (TEMPORARY_STATUSES.has(status)) return temporaryFailure(what, headers);
    const code = failureCode(status, errors);
    // Anonymous access uses tokens too, so look at the credentials.
    const known = (await this.#credentials) !== undefined;
    const hint =
      status === 401 || (status === 403 && messages === '')
        ? loginHint(this.registry, known)
        : status === 404
          ? `Check the repository name ${repository}, and the tag or digest.`
          : undefined;
    const action = actions === 'pull,push' ? 'write' : 'read';
    const object = repository === '' ? 'the repositories' : repository;
    const message = status === 404 ? what : `cannot ${action} ${object}: ${what}`;
    return new KrmhubError(code, message, { isRefusal: REFUSALS.includes(status), ...defined({ hint }) });
  }

  #unexpected(what: string): KrmhubError {
    return new KrmhubError('unreachable', `unexpected response from ${this.registry}: ${what}`);
  }
}

export function toContent(bytes: Uint8Array): Content {
  return {
    size: bytes.byteLength,
    async *open() {
      yield bytes;
    },
  };
}

/** Reads a stream into memory. Returns undefined if it is larger than `maxBytes`. */
export async function readLimited(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.byteLength;
    if (size > maxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function readLimitedText(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string | undefined> {
  const bytes = await readLimited(body, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

/** A request whose method has a body says so if the body is empty. */
function emptyLength(method: string): string | undefined {
  return method === 'POST' || method === 'PUT' ? '0' : undefined;
}

function toReadable(pieces: AsyncIterable<Uint8Array>, onFailure: (error: unknown) => void): Readable {
  return Readable.from(pieces, { objectMode: false }).on('error', onFailure);
}
