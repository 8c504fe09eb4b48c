import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import {
  basicAuthorization,
  buildTokenRequest,
  type Challenge,
  type Credentials,
  readChallenge,
  readToken,
} from './auth.js';
import {
  IDLE_TIMEOUT,
  loginHint,
  readRegistryErrors,
  TEMPORARY_STATUSES,
  TooManyRedirects,
  temporaryFailure,
  unreachableError,
} from './connection-errors.js';

export interface ConnectionOptions {
  /** What `docker login` and its like keep for a registry, by host and port. */
  credentials(registry: string): Promise<Credentials | undefined>;
  /** Whether a registry is spoken to without TLS. */
  plainHttp(registry: string): boolean;
  /** How connections are made, such as through a proxy; Node's own way where it gives none. */
  agent?(url: URL): Promise<Agent | undefined>;
  userAgent: string;
  /** Milliseconds for which nothing may come or go; 60,000 by default. */
  idleMilliseconds?: number;
  /** Redirects that are followed one after another; 5 by default. */
  maxRedirects?: number;
  /** Ends everything that is under way. */
  signal?: AbortSignal;
}

/** Bytes that can be sent again from their beginning. */
export interface Content {
  size: number;
  open(): AsyncIterable<Uint8Array>;
}

export interface Exchange {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  headers?: Record<string, string>;
  body?: Content;
  /** What is done with the repository, and what others are pulled from. */
  actions: 'pull' | 'pull,push';
  alsoPull?: string;
  /** Statuses that are an answer; anything else is thrown. */
  expected: readonly number[];
}

export interface RegistryResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Where it came from in the end. */
  url: URL;
  body: IncomingMessage;
}

const IDLE_MILLISECONDS = 60_000;
const MAX_REDIRECTS = 5;
const MAX_ERROR_BYTES = 65_536;
const MAX_TOKEN_BYTES = 1_048_576;
/** HTTP with one registry, as who the credentials say. Rejects with KrmhubErrors only. */
export class Connection {
  readonly registry: string;
  readonly #options: ConnectionOptions;
  readonly #base: URL;
  /** Authorization by what it is for. */
  readonly #tokens = new Map<string, { header: string; until: number }>();
  #challenge: Challenge | undefined;
  #credentials: Promise<Credentials | undefined> | undefined;

  constructor(registry: string, options: ConnectionOptions) {
    this.registry = registry;
    this.#options = options;
    const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
    this.#base = new URL(`${options.plainHttp(registry) ? 'http' : 'https'}://${host}/v2/`);
  }

  /** `target` is below `/v2/<repository>/`, or a URL that the registry named. */
  async send(repository: string, target: string | URL, exchange: Exchange): Promise<RegistryResponse> {
    const url = target instanceof URL ? target : new URL(`${repository}/${target}`, this.#base);
    const scopes = [`repository:${repository}:${exchange.actions}`];
    if (exchange.alsoPull !== undefined) scopes.push(`repository:${exchange.alsoPull}:pull`);
    let authorization = await this.#authorization(scopes);
    let answer = await this.#follow(url, exchange, authorization);
    // What somebody else asks for is not answered: it would be told the credentials of this registry.
    if (answer.status === 401 && answer.url.origin === this.#base.origin) {
      const challenge = readChallenge(answer.headers['www-authenticate']);
      if (challenge !== undefined && (authorization === undefined || challenge.scheme === 'bearer')) {
        this.#challenge = challenge;
        this.#tokens.delete(scopes.join(' '));
        const renewed = await this.#authorization(scopes).catch((error: unknown) => {
          // What is not read would keep the program waiting.
          answer.body.destroy();
          throw error;
        });
        if (renewed !== undefined && renewed !== authorization) {
          answer.body.destroy();
          authorization = renewed;
          answer = await this.#follow(url, exchange, authorization);
        }
      }
    }
    if (exchange.expected.includes(answer.status)) return answer;
    throw await this.#failure(answer, repository, exchange);
  }

  /** A URL that the registry named in an answer's header. */
  resolveLocation(answer: RegistryResponse): URL {
    const { location } = answer.headers;
    if (location === undefined || !URL.canParse(location, answer.url.href)) {
      throw this.#foreign(`it answered ${answer.status} without a place to go`);
    }
    return new URL(location, answer.url);
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
    // A token that ends while it is on its way is of no use.
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
    const secure = this.#base.protocol === 'https:';
    const { url, authorization, form } = buildTokenRequest(challenge, { scopes, credentials, secure });
    const bytes = form && new TextEncoder().encode(form.toString());
    const answer = await this.#exchange(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        ...(authorization === undefined ? {} : { Authorization: authorization }),
        ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
      ...(bytes === undefined ? {} : { body: toContent(bytes) }),
    });
    const text = await readLimitedText(answer.body, MAX_TOKEN_BYTES);
    if (answer.status === 200 && text !== undefined) return readToken(text);
    const refused = answer.status === 401 || answer.status === 403 || answer.status === 400;
    const { told } = readRegistryErrors(text ?? '');
    const what = `the token service of ${this.registry} answered ${answer.status}${told === '' ? '' : `: ${told}`}`;
    if (TEMPORARY_STATUSES.has(answer.status)) throw temporaryFailure(what, answer.headers);
    throw new KrmhubError(refused ? 'unauthorized' : 'unreachable', what, {
      hint: loginHint(this.registry, credentials !== undefined),
    });
  }

  /** Follows redirects of reads; who is asked elsewhere is not told who asks. */
  async #follow(
    first: URL,
    exchange: Exchange,
    authorization: string | undefined,
  ): Promise<RegistryResponse> {
    let url = first;
    for (let redirects = 0; ; redirects++) {
      const own = url.origin === this.#base.origin;
      const answer = await this.#exchange(url, {
        ...exchange,
        headers: {
          ...exchange.headers,
          ...(authorization !== undefined && own ? { Authorization: authorization } : {}),
        },
      });
      if (answer.status < 300 || answer.status >= 400) return answer;
      answer.body.destroy();
      if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
        throw this.#foreign(
          `it redirects a ${exchange.method} to ${printable(answer.headers.location ?? '')}`,
        );
      }
      const { maxRedirects = MAX_REDIRECTS } = this.#options;
      if (redirects >= maxRedirects) {
        throw new TooManyRedirects(
          'unreachable',
          `${this.registry} does not answer as a registry does: it redirects more than ${maxRedirects} times`,
        );
      }
      url = this.resolveLocation(answer);
    }
  }

  async #exchange(
    url: URL,
    { method, headers, body }: Pick<Exchange, 'method' | 'headers' | 'body'>,
  ): Promise<RegistryResponse> {
    if (!/^https?:$/.test(url.protocol) || url.username + url.password !== '') {
      throw this.#foreign(`it names ${printable(url.href)}, which is no web address`);
    }
    if (this.#base.protocol === 'https:' && url.protocol !== 'https:') {
      throw this.#foreign(`it names ${printable(url.origin)}, which is not encrypted`);
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
        ...(body !== undefined
          ? { 'Content-Length': String(body.size) }
          : method === 'POST' || method === 'PUT'
            ? { 'Content-Length': '0' }
            : {}),
        ...headers,
      },
    });
    request.on('timeout', () => {
      request.destroy(
        Object.assign(new Error(`nothing came for ${idle / 1_000} seconds`), { code: IDLE_TIMEOUT }),
      );
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('error', reject);
    });
    answered.catch(() => undefined);
    let readFailure: unknown;
    if (body === undefined) request.end();
    else {
      // A registry that refuses answers before it has read everything: the answer says more than the broken pipe.
      pipeline(
        toReadable(body.open(), (error) => (readFailure = error)),
        request,
      ).catch(() => undefined);
    }
    try {
      const response = await answered;
      return { status: response.statusCode ?? 0, headers: response.headers, url, body: response };
    } catch (error) {
      throw readFailure ?? unreachableError(url, error);
    }
  }

  async #failure(
    answer: RegistryResponse,
    repository: string,
    { method, actions }: Exchange,
  ): Promise<KrmhubError> {
    const { status, headers } = answer;
    const text = method === 'HEAD' ? '' : await readLimitedText(answer.body, MAX_ERROR_BYTES).catch(() => '');
    answer.body.destroy();
    const { told, first } = readRegistryErrors(text ?? '');
    const what = `${this.registry} answered ${status}${told === '' ? '' : `: ${told}`}`;
    if (TEMPORARY_STATUSES.has(status)) return temporaryFailure(what, headers);
    const code: ErrorCode =
      status === 401
        ? 'unauthorized'
        : status === 403
          ? 'forbidden'
          : status === 404
            ? 'not-found'
            : status === 410
              ? 'gone'
              : status === 413
                ? 'too-large'
                : first === 'MANIFEST_INVALID'
                  ? 'invalid-document'
                  : status >= 400 && status < 500
                    ? 'invalid-request'
                    : 'unreachable';
    // A token that anybody gets says nothing of credentials.
    const known = (await this.#credentials) !== undefined;
    const hint =
      status === 401 || (status === 403 && told === '')
        ? loginHint(this.registry, known)
        : status === 404
          ? `Is ${repository} the right name, and is what you ask for there?`
          : undefined;
    const did = actions === 'pull' ? 'read' : 'written';
    const message = status === 404 ? what : `${repository} cannot be ${did}: ${what}`;
    return new KrmhubError(code, message, hint === undefined ? {} : { hint });
  }

  #foreign(what: string): KrmhubError {
    return new KrmhubError('unreachable', `${this.registry} does not answer as a registry does: ${what}`);
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

/** Undefined where there is more than so many bytes. */
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

function toReadable(pieces: AsyncIterable<Uint8Array>, onFailure: (error: unknown) => void): Readable {
  return Readable.from(pieces, { objectMode: false }).on('error', onFailure);
}
