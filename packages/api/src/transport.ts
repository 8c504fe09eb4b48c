import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import { SCHEMAS } from './generated/response-schemas.js';
import { decompress, type EncodedBody, encodeBody, parseJson } from './message-body.js';
import type { Problem } from './model.js';
import { type Query, queryText } from './query-text.js';
import {
  isErrorCode,
  parseRetryAfter,
  plainFailure,
  RegistryError,
  UnexpectedResponse,
} from './registry-error.js';
import { parseRegistryUrl } from './registry-url.js';
import { findMismatch, type ResponseSchema } from './response-schema.js';

export { RegistryError, UnexpectedResponse } from './registry-error.js';

export interface TransportOptions {
  /** For example `https://krm.example.com`. It may have a path prefix. */
  url: string;
  /** Bearer token, or what returns it, for a request that needs it or not. It is sent to this origin only. */
  token?: string | ((isRequired: boolean) => Promise<string | undefined>);
  userAgent?: string;
  /** For one request including the response body. Default 60,000. */
  timeoutMilliseconds?: number;
  /** For example an agent that connects through a proxy. Default: the global agent of Node.js. */
  agent?: Agent;
  /**
   * Called for a rate limit response (429). Resolves with true when the request can be retried, with false to give
   * up. Default: give up.
   */
  onRateLimited?: (retryAfterSeconds: number) => Promise<boolean>;
  /**
   * Called once if the registry responds to a read as if it had no token, with the reason, and whether the token may count
   * again in a minute.
   */
  onUselessToken?: (reason: string, isTemporary: boolean) => Promise<void>;
  /** Called if the registry refuses a token, or to read something with it. */
  onRefused?: (refusal: Refusal) => Promise<void>;
}

export interface Refusal {
  token: string;
  /** What was asked for, below the URL of the registry; absent if the token itself is refused, whatever was asked for. */
  path?: string;
}

export interface Call {
  method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Undefined values are omitted; lists become repeated parameters. */
  query?: Query;
  body?: Uint8Array | string | FormData;
  contentType?: string;
  /**
   * Whether the token is sent with the first request. Default: for writes, and for paths that the registry refused or
   * hid without it. A list has what the reader may see, so `useful` sends the token if there is one.
   */
  withToken?: boolean | 'useful';
  accept: string;
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Uint8Array;
}

interface Opened {
  response: IncomingMessage;
  /** Token of a read, if it counts. */
  reader?: string;
}

const DEFAULT_TIMEOUT_MILLISECONDS = 60_000;
const MAX_REDIRECTS = 3;
/** What is not, or no longer, for the reader. */
const HIDDEN = [403, 404, 410];
const PROBLEM_BYTES = 4_194_304;
const JSON_BYTES = 33_554_432;

/** RFC 9457, section 3.1.1: a problem without `type` is "about:blank". */
const PROBLEM = {
  ...SCHEMAS.Problem,
  required: SCHEMAS.Problem.required.filter((name) => name !== 'type'),
};

/**
 * Sends requests to one registry, with limits. Rejects with KrmhubErrors only. It uses node:http because the first
 * `fetch` of a Node.js process takes longer than the rest of a short command.
 *
 * `Connection` of packages/oci and `exchange` of packages/sources are clients of their own. They follow other
 * redirects, send credentials by other rules, time out differently, and guard addresses. All that the three share is
 * one call of `request`.
 */
export class Transport {
  /** Without a trailing slash. */
  readonly url: string;
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #token: TransportOptions['token'];
  /** Paths that were refused without a token. */
  readonly #refused = new Set<string>();
  readonly #timeout: number;
  readonly #agent: Agent | undefined;
  readonly #onRateLimited: TransportOptions['onRateLimited'];
  #onUselessToken: TransportOptions['onUselessToken'];
  readonly #onRefused: TransportOptions['onRefused'];

  constructor(options: TransportOptions) {
    const url = parseRegistryUrl(options.url);
    this.#origin = url.origin;
    this.url = url.origin + url.pathname.replace(/\/+$/, '');
    this.#agent = options.agent;
    this.#onRateLimited = options.onRateLimited;
    this.#onUselessToken = options.onUselessToken;
    this.#onRefused = options.onRefused;
    this.#timeout = options.timeoutMilliseconds ?? DEFAULT_TIMEOUT_MILLISECONDS;
    this.#headers = { 'User-Agent': options.userAgent ?? 'krmhub' };
    this.#token = typeof options.token === 'string' ? checkToken(options.token) : options.token;
  }

  /** Returns the JSON of a response after checking it against the schema. */
  async json<T>(
    path: string,
    schema: ResponseSchema,
    call: Omit<Call, 'accept' | 'maxBytes'> = {},
  ): Promise<T> {
    const response = await this.send(path, { ...call, accept: 'application/json', maxBytes: JSON_BYTES });
    const type = response.headers['content-type'] ?? 'no media type';
    if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
      throw this.#unexpected(path, `the response is ${printable(type)}, not JSON`);
    const value = parseJson(response.bytes);
    if (value === undefined) throw this.#unexpected(path, 'the response is not valid JSON');
    const wrong = findMismatch(value, schema);
    if (wrong !== undefined)
      throw this.#unexpected(path, `the response is missing "${wrong}", or its type is wrong`);
    return value as T;
  }

  /** Returns a response with a 2xx status. */
  send(path: string, call: Call): Promise<HttpResponse> {
    return this.#retryRateLimited(async () => {
      const signal = AbortSignal.timeout(this.#timeout);
      return this.#read(path, await this.#open(path, call, signal), call.maxBytes, signal);
    });
  }

  /** Streams the decompressed body of a response with a 2xx status. The timeout is for each chunk. */
  async *stream(path: string, accept: string): AsyncGenerator<Uint8Array, void, undefined> {
    const stopping = new AbortController();
    const { signal } = stopping;
    const wait = () => setTimeout(() => stopping.abort(), this.#timeout);
    let timer = wait();
    try {
      const response = await this.#retryRateLimited(async () => {
        const opened = await this.#open(path, { accept, maxBytes: 0, withToken: 'useful' }, signal);
        if (!isSuccess(opened.response)) await this.#read(path, opened, 0, signal);
        return opened.response;
      });
      for await (const piece of await this.#pieces(path, response)) {
        clearTimeout(timer);
        yield piece;
        timer = wait();
      }
    } catch (error) {
      throw error instanceof KrmhubError ? error : this.#unreachable(error, signal);
    } finally {
      clearTimeout(timer);
      stopping.abort();
    }
  }

  async #retryRateLimited<T>(send: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        // The registry did not process the request, so even a POST can be repeated.
        const limited = error instanceof RegistryError && error.code === 'rate-limited';
        if (!limited || error.retryAfterSeconds === undefined) throw error;
        if ((await this.#onRateLimited?.(error.retryAfterSeconds)) !== true) throw error;
      }
    }
  }

  /** Follows redirects. Sends the token if the request needs it. */
  async #open(path: string, call: Call, signal: AbortSignal): Promise<Opened> {
    let target = this.url + path + queryText(call.query);
    const body = await encodeBody(call);
    const isRead = (call.method ?? 'GET') === 'GET';
    // Some lists are asked for with a POST.
    const reads = isRead || call.withToken === 'useful';
    const withToken = call.withToken ?? (!isRead || this.#refused.has(path));
    let token = withToken === false ? undefined : await this.#findToken(withToken === true);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#request(target, { call, body, token }, signal);
      const { statusCode: status = 0 } = response;
      if (isRead && token === undefined && (status === 401 || status === 404)) {
        token = await this.#findToken(status === 401).catch((error: unknown) => {
          // An unread body would keep the process alive.
          response.destroy();
          throw error;
        });
        if (token === undefined) return { response };
        this.#refused.add(path);
        response.destroy();
        continue;
      }
      const counts = token !== undefined && (await this.#reportToken(response, token));
      if (status < 300 || status >= 400)
        return { response, ...defined({ reader: reads && counts ? token : undefined }) };
      response.destroy();
      target = this.#redirected(target, response, call, redirects);
    }
  }

  /** Returns whether the token counts. One that does not may count again in a minute. */
  async #reportToken(response: IncomingMessage, token: string): Promise<boolean> {
    const challenge = response.headers['www-authenticate'] ?? '';
    const [, error, reason] =
      /error="([a-z_]{1,50})", error_description="([^"]{1,500})"/.exec(challenge) ?? [];
    const isAway = error === 'temporarily_unavailable';
    const isRefused = !isAway && (error === 'invalid_token' || response.statusCode === 401);
    try {
      if (isRefused) await this.#onRefused?.({ token });
      if (reason !== undefined && isSuccess(response)) {
        const report = this.#onUselessToken;
        this.#onUselessToken = undefined;
        await report?.(reason, isAway);
      }
    } catch (failure) {
      response.destroy();
      throw failure;
    }
    return !isAway && !isRefused;
  }

  async #findToken(isRequired: boolean): Promise<string | undefined> {
    const token = typeof this.#token === 'function' ? await this.#token(isRequired) : this.#token;
    return token === undefined ? undefined : checkToken(token);
  }

  async #request(
    target: string,
    { call, body, token }: { call: Call; body: EncodedBody | undefined; token: string | undefined },
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const headers: Record<string, string> = {
      ...this.#headers,
      ...defined({ Authorization: token === undefined ? undefined : `Bearer ${token}` }),
      Accept: call.accept,
      'Accept-Encoding': 'gzip, br',
      ...defined({ 'Content-Type': body?.contentType }),
    };
    const send = target.startsWith('https:') ? requestHttps : requestHttp;
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        const request = send(target, { method: call.method ?? 'GET', headers, signal, agent: this.#agent });
        request.on('response', resolve);
        request.on('error', reject);
        request.end(body?.bytes);
      });
    } catch (error) {
      throw this.#unreachable(error, signal);
    }
  }

  /** No redirect to another origin is followed, because it would get the token. */
  #redirected(from: string, response: IncomingMessage, call: Call, redirects: number): string {
    const { location } = response.headers;
    const to = location === undefined ? undefined : parseUrl(location, from);
    if (to === undefined)
      throw this.#unexpected(from, `the response is ${response.statusCode} without a valid Location header`);
    if (to.protocol !== 'http:' && to.protocol !== 'https:') {
      throw this.#unexpected(
        from,
        `it redirects to ${printable(to.href, 100)}, which is not an http or https URL`,
      );
    }
    if (to.origin !== this.#origin || (call.method ?? 'GET') !== 'GET') {
      throw new KrmhubError('unreachable', `${this.url} redirects to ${printable(to.origin + to.pathname)}`, {
        hint: `If you trust that address, use it with --registry ${printable(to.origin)}`,
      });
    }
    if (redirects >= MAX_REDIRECTS) throw this.#unexpected(from, `more than ${MAX_REDIRECTS} redirects`);
    return to.href;
  }

  async #read(
    path: string,
    { response, reader }: Opened,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { statusCode: status = 0 } = response;
    const ok = isSuccess(response);
    const bytes = await this.#body(path, response, ok ? maxBytes : PROBLEM_BYTES, signal);
    if (ok) return { status, headers: response.headers, bytes };
    const type = response.headers['content-type'] ?? '';
    const problem = /^application\/problem\+json\b/i.test(type) ? parseJson(bytes) : undefined;
    if (problem === undefined || findMismatch(problem, PROBLEM) !== undefined) {
      const what = `${status}${type === '' ? '' : ` with ${printable(type)}`}`;
      throw (
        plainFailure(this.url, what, {
          status,
          retryAfterSeconds: parseRetryAfter(response.headers['retry-after']),
        }) ?? this.#unexpected(path, `the response is ${what}`, status)
      );
    }
    // A page of a proxy does not say what the registry gives.
    if (reader !== undefined && HIDDEN.includes(status)) await this.#onRefused?.({ token: reader, path });
    const parsed = problem as Problem;
    // A proxy in front of a registry below a path removes the path.
    const isAtRoot = parsed.detail === `path ${new URL(this.url + path).pathname} not found`;
    const hint = isAtRoot && this.url !== this.#origin ? `Use ${this.#origin}` : parsed.hint;
    throw new RegistryError(
      this.url,
      { ...parsed, code: isErrorCode(parsed.code) ? parsed.code : 'internal', ...defined({ hint }) },
      parseRetryAfter(response.headers['retry-after']),
    );
  }

  /** The limit is for the decompressed body. */
  async #body(
    path: string,
    response: IncomingMessage,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const pieces = await this.#pieces(path, response);
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of pieces) {
        size += chunk.length;
        if (size > maxBytes) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw this.#unreachable(error, signal);
    }
    if (size > maxBytes) throw this.#unexpected(path, `the response is larger than ${maxBytes} bytes`);
    return Buffer.concat(chunks);
  }

  /** Returns the decompressed body. */
  async #pieces(path: string, response: IncomingMessage): Promise<AsyncIterable<Uint8Array>> {
    const coding = response.headers['content-encoding'];
    const unpacked = await decompress(response, coding);
    if (unpacked !== undefined) return unpacked as AsyncIterable<Uint8Array>;
    response.destroy();
    throw this.#unexpected(
      path,
      `the response has the unsupported content coding ${printable(coding ?? '')}`,
    );
  }

  #unexpected(path: string, what: string, status = 200): KrmhubError {
    const request = path.startsWith('/') ? this.url + path : path;
    return new UnexpectedResponse('unreachable', `no krmhub registry at ${this.url}: ${what}`, {
      hint: `Check the URL of the registry (--registry or KRMHUB_REGISTRY). The request was for ${request}`,
      status,
    });
  }

  #unreachable(error: unknown, signal: AbortSignal): KrmhubError {
    const reason = signal.aborted
      ? `no response within ${this.#timeout / 1000} seconds`
      : networkReason(error);
    return new KrmhubError('unreachable', `cannot reach the registry at ${this.url}: ${reason}`, {
      cause: error,
      hint: 'Start a registry with `krmhub serve`, or set another URL with --registry or KRMHUB_REGISTRY.',
    });
  }
}

function checkToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new KrmhubError('usage', 'the token contains invalid characters', {
    hint: 'Copy the whole token as one line, without quotes.',
  });
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}
