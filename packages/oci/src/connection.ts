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
import { networkReason, printable } from '@krmhub/schema/network-reason';
import {
  basicAuthorization,
  type Challenge,
  type Credentials,
  readChallenge,
  readToken,
  tokenRequest,
} from './auth.js';

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

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Where it came from in the end. */
  url: URL;
  body: IncomingMessage;
}

/** A registry that could not answer now and may in a moment. */
export class TemporaryFailure extends KrmhubError {
  /** Milliseconds that the registry wants to be left alone, where it says so. */
  retryAfterMilliseconds: number | undefined;
}

/** A registry, or what it redirects to, that sends its readers around. */
export class TooManyRedirects extends KrmhubError {}

const IDLE_MILLISECONDS = 60_000;
/** Code of the error that ends a connection on which nothing comes: the cause of a TemporaryFailure. */
export const IDLE = 'KRMHUB_IDLE';
const MAX_REDIRECTS = 5;
const MAX_ERROR_BYTES = 65_536;
const MAX_TOKEN_BYTES = 1_048_576;
/** Characters of each error that a registry tells: what it says to do about it stands at the end. */
const MAX_TOLD_LENGTH = 1_000;
const TEMPORARY = new Set([408, 429, 500, 502, 503, 504]);

/** HTTP with one registry, as who the credentials say. Rejects with KrmhubErrors only. */
export class Connection {
  readonly registry: string;
  readonly #options: ConnectionOptions;
  readonly #base: URL;
  /** Authorization by what it is for. */
  readonly #known = new Map<string, { header: string; until: number }>();
  #challenge: Challenge | undefined;
  #credentials: Promise<Credentials | undefined> | undefined;

  constructor(registry: string, options: ConnectionOptions) {
    this.registry = registry;
    this.#options = options;
    const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
    this.#base = new URL(`${options.plainHttp(registry) ? 'http' : 'https'}://${host}/v2/`);
  }

  /** `target` is below `/v2/<repository>/`, or a URL that the registry named. */
  async send(repository: string, target: string | URL, exchange: Exchange): Promise<Answer> {
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
        this.#known.delete(scopes.join(' '));
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
  located(answer: Answer): URL {
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
    const known = this.#known.get(name);
    if (known !== undefined && known.until > performance.now()) return known.header;
    const { token, milliseconds } = await this.#fetchToken(challenge, scopes, credentials);
    // A token that ends while it is on its way is of no use.
    const until = performance.now() + Math.max(milliseconds - 10_000, milliseconds / 2);
    const header = `Bearer ${token}`;
    this.#known.set(name, { header, until });
    return header;
  }

  async #fetchToken(
    challenge: Challenge & { scheme: 'bearer' },
    scopes: readonly string[],
    credentials: Credentials | undefined,
  ): Promise<{ token: string; milliseconds: number }> {
    const secure = this.#base.protocol === 'https:';
    const { url, authorization, form } = tokenRequest(challenge, { scopes, credentials, secure });
    const bytes = form && new TextEncoder().encode(form.toString());
    const answer = await this.#exchange(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        ...(authorization === undefined ? {} : { Authorization: authorization }),
        ...(form === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
      ...(bytes === undefined ? {} : { body: contentOf(bytes) }),
    });
    const text = await limitedText(answer.body, MAX_TOKEN_BYTES);
    if (answer.status === 200 && text !== undefined) return readToken(text);
    const refused = answer.status === 401 || answer.status === 403 || answer.status === 400;
    const { told } = registryErrors(text ?? '');
    const what = `the token service of ${this.registry} answered ${answer.status}${told === '' ? '' : `: ${told}`}`;
    if (TEMPORARY.has(answer.status)) throw temporary(what, answer.headers);
    throw new KrmhubError(refused ? 'unauthorized' : 'unreachable', what, {
      hint: loginHint(this.registry, credentials !== undefined),
    });
  }

  /** Follows redirects of reads; who is asked elsewhere is not told who asks. */
  async #follow(first: URL, exchange: Exchange, authorization: string | undefined): Promise<Answer> {
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
      url = this.located(answer);
    }
  }

  async #exchange(
    url: URL,
    { method, headers, body }: Pick<Exchange, 'method' | 'headers' | 'body'>,
  ): Promise<Answer> {
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
      request.destroy(Object.assign(new Error(`nothing came for ${idle / 1_000} seconds`), { code: IDLE }));
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
        failing(body.open(), (error) => (readFailure = error)),
        request,
      ).catch(() => undefined);
    }
    try {
      const response = await answered;
      return { status: response.statusCode ?? 0, headers: response.headers, url, body: response };
    } catch (error) {
      throw readFailure ?? unreachable(url, error);
    }
  }

  async #failure(answer: Answer, repository: string, { method, actions }: Exchange): Promise<KrmhubError> {
    const { status, headers } = answer;
    const text = method === 'HEAD' ? '' : await limitedText(answer.body, MAX_ERROR_BYTES).catch(() => '');
    answer.body.destroy();
    const { told, first } = registryErrors(text ?? '');
    const what = `${this.registry} answered ${status}${told === '' ? '' : `: ${told}`}`;
    if (TEMPORARY.has(status)) return temporary(what, headers);
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

export function contentOf(bytes: Uint8Array): Content {
  return {
    size: bytes.byteLength,
    async *open() {
      yield bytes;
    },
  };
}

/** Undefined where there is more than so many bytes. */
export async function limitedBytes(
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

async function limitedText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const bytes = await limitedBytes(body, maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

/** What a registry says is wrong (distribution-spec, "Error Codes"), in one line, and the first code. */
function registryErrors(text: string): { told: string; first?: unknown } {
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: { code?: unknown; message?: unknown }[] };
    const told = errors
      .slice(0, 3)
      .map(({ code, message }) =>
        printable([code, message].filter((part) => typeof part === 'string').join(', '), MAX_TOLD_LENGTH),
      )
      .join('; ');
    return { told, first: errors[0]?.code };
  } catch {
    return { told: '' };
  }
}

function temporary(what: string, headers: IncomingHttpHeaders): TemporaryFailure {
  const failure = new TemporaryFailure('unavailable', what, { hint: 'Try again in a moment.' });
  const seconds = headers['retry-after'];
  if (seconds !== undefined && /^\d{1,5}$/.test(seconds))
    failure.retryAfterMilliseconds = Number(seconds) * 1_000;
  return failure;
}

/** What comes back by itself: a name or address that is wrong stays wrong. */
const PASSING = new Set([
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
  IDLE,
]);

export function unreachable(url: URL, error: unknown): KrmhubError {
  const code = String((error as { code?: unknown }).code ?? '');
  const message = `cannot reach ${printable(url.host)}: ${networkReason(error)}`;
  if (PASSING.has(code)) return new TemporaryFailure('unreachable', message, { cause: error });
  const noTls = url.protocol === 'https:' && /EPROTO|WRONG_VERSION|ERR_SSL|ECONNREFUSED/.test(code);
  return new KrmhubError('unreachable', message, {
    cause: error,
    ...(noTls ? { hint: 'If it does not speak TLS: --plain-http speaks to it without.' } : {}),
  });
}

function loginHint(registry: string, known: boolean): string {
  return known
    ? `The credentials for ${registry} are not enough: log in as somebody who may, with \`docker login ${registry}\`.`
    : `Log in first, with \`docker login ${registry}\`, \`oras login ${registry}\` or the like.`;
}

function failing(pieces: AsyncIterable<Uint8Array>, onFailure: (error: unknown) => void): Readable {
  return Readable.from(pieces, { objectMode: false }).on('error', onFailure);
}
