import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Readable } from 'node:stream';
import { ERROR_CODES, type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import { networkReason, printable } from '@krmhub/schema/network-reason';
import { SCHEMAS } from './generated/response-schemas.js';
import type { Problem } from './model.js';
import { RegistryError, UnexpectedResponse } from './registry-error.js';
import { findMismatch, type ResponseSchema } from './response-schema.js';

export { RegistryError, UnexpectedResponse } from './registry-error.js';

export interface TransportOptions {
  /** Where the registry is, such as `https://krm.example.com`; a path in front of its own is kept. */
  url: string;
  /** Sent as a bearer token, to this origin only. */
  token?: string;
  userAgent?: string;
  /** For one whole call, its body included. Default 60,000. */
  timeoutMilliseconds?: number;
  /** How connections are made, such as through a proxy; Node's own way by default. */
  agent?: Agent;
  /**
   * Called when the registry says that it is asked too often (429): resolves when it may be asked again, with
   * false to give up instead. Without it, such answers are errors at once.
   */
  onRateLimited?: (retryAfterSeconds: number) => Promise<boolean>;
}

export interface Call {
  method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Entries that are undefined are left out; lists are repeated. */
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: Uint8Array | string | FormData;
  contentType?: string;
  accept: string;
  maxBytes: number;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  bytes: Uint8Array;
}

const DEFAULT_TIMEOUT_MILLISECONDS = 60_000;
const MAX_REDIRECTS = 3;
const PROBLEM_BYTES = 4_194_304;
const JSON_BYTES = 33_554_432;

/** RFC 9457, section 3.1.1: a problem without `type` is "about:blank". */
const PROBLEM = {
  ...SCHEMAS.Problem,
  required: SCHEMAS.Problem.required.filter((name) => name !== 'type'),
};

/**
 * Requests to one registry, under limits. Rejects with KrmhubErrors only. It stands on node:http because the
 * first fetch of a process costs Node more time than everything else that a short command does.
 */
export class Transport {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  readonly #agent: Agent | undefined;
  readonly #onRateLimited: TransportOptions['onRateLimited'];

  constructor(options: TransportOptions) {
    const url = parseRegistryUrl(options.url);
    this.#origin = url.origin;
    this.url = url.origin + url.pathname.replace(/\/+$/, '');
    this.#agent = options.agent;
    this.#onRateLimited = options.onRateLimited;
    this.#timeout = options.timeoutMilliseconds ?? DEFAULT_TIMEOUT_MILLISECONDS;
    this.#headers = { 'User-Agent': options.userAgent ?? 'krmhub' };
    if (options.token !== undefined) {
      if (!/^[\x21-\x7e]+$/.test(options.token)) {
        throw new KrmhubError('usage', 'the token has characters that no token has', {
          hint: 'Check that the whole token was copied, on one line and without quotes.',
        });
      }
      this.#headers.Authorization = `Bearer ${options.token}`;
    }
  }

  /** The JSON of an answer, checked against its shape. */
  async json<T>(
    path: string,
    schema: ResponseSchema,
    call: Omit<Call, 'accept' | 'maxBytes'> = {},
  ): Promise<T> {
    const answer = await this.send(path, { ...call, accept: 'application/json', maxBytes: JSON_BYTES });
    const type = answer.headers['content-type'] ?? 'no media type';
    if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
      throw this.#foreign(path, `it answered with ${printable(type)}, not JSON`);
    const value = parseJson(answer.bytes);
    if (value === undefined) throw this.#foreign(path, 'its answer is not JSON');
    const wrong = findMismatch(value, schema);
    if (wrong !== undefined) throw this.#foreign(path, `its answer lacks what is expected at "${wrong}"`);
    return value as T;
  }

  /** The answer with a status of 2xx. */
  send(path: string, call: Call): Promise<HttpResponse> {
    return this.#inTurn(async () => {
      const signal = AbortSignal.timeout(this.#timeout);
      const response = await this.#open(path, call, signal);
      return this.#read(path, response, call.maxBytes, signal);
    });
  }

  /**
   * The pieces of an answer with a status of 2xx as they come, unpacked. The timeout is for each piece: how long the whole
   * takes is for who reads it.
   */
  async *stream(path: string, accept: string): AsyncGenerator<Uint8Array, void, undefined> {
    const stopping = new AbortController();
    const { signal } = stopping;
    const wait = () => setTimeout(() => stopping.abort(), this.#timeout);
    let timer = wait();
    try {
      const response = await this.#inTurn(async () => {
        const opened = await this.#open(path, { accept, maxBytes: 0 }, signal);
        if (!isGood(opened)) await this.#read(path, opened, 0, signal);
        return opened;
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

  async #inTurn<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        // What was refused for coming too often was not looked at, so that it can be sent again whatever it is.
        const limited = error instanceof RegistryError && error.code === 'rate-limited';
        if (!limited || error.retryAfterSeconds === undefined) throw error;
        if ((await this.#onRateLimited?.(error.retryAfterSeconds)) !== true) throw error;
      }
    }
  }

  /** The answer that redirects lead to. */
  async #open(path: string, call: Call, signal: AbortSignal): Promise<IncomingMessage> {
    let target = this.url + path + queryText(call.query);
    const body = await encodeBody(call);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#request(target, call, body, signal);
      const { statusCode: status = 0 } = response;
      if (status < 300 || status >= 400) return response;
      response.destroy();
      target = this.#redirected(target, response, call, redirects);
    }
  }

  async #request(
    target: string,
    call: Call,
    body: EncodedBody | undefined,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const headers: Record<string, string> = {
      ...this.#headers,
      Accept: call.accept,
      'Accept-Encoding': 'gzip, br',
      ...(body === undefined ? {} : { 'Content-Type': body.contentType }),
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

  /** A token must not follow a redirect to another origin, so no request does. */
  #redirected(from: string, response: IncomingMessage, call: Call, redirects: number): string {
    const { location } = response.headers;
    const to = location !== undefined && URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (to === undefined)
      throw this.#foreign(from, `it answered ${response.statusCode} without a place to go`);
    if (to.origin !== this.#origin || (call.method ?? 'GET') !== 'GET') {
      throw new KrmhubError('unreachable', `${this.url} redirects to ${printable(to.origin + to.pathname)}`, {
        hint: `Redirects are not followed there. If you trust it, name it as the registry: --registry ${printable(to.origin)}`,
      });
    }
    if (redirects >= MAX_REDIRECTS)
      throw this.#foreign(from, `it redirects more than ${MAX_REDIRECTS} times`);
    return to.href;
  }

  async #read(
    path: string,
    response: IncomingMessage,
    maxBytes: number,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const { statusCode: status = 0 } = response;
    const ok = isGood(response);
    const bytes = await this.#body(path, response, ok ? maxBytes : PROBLEM_BYTES, signal);
    if (ok) return { status, headers: response.headers, bytes };
    const type = response.headers['content-type'] ?? '';
    const problem = /^application\/problem\+json\b/i.test(type) ? parseJson(bytes) : undefined;
    if (problem === undefined || findMismatch(problem, PROBLEM) !== undefined) {
      const what = `it answered ${status}${type === '' ? '' : ` with ${printable(type)}`}`;
      throw this.#foreign(path, what, status);
    }
    const told = problem as Problem;
    throw new RegistryError(
      this.url,
      { ...told, code: isErrorCode(told.code) ? told.code : 'internal' },
      secondsOf(response.headers['retry-after']),
    );
  }

  /** The limit is on what a coded body unpacks to. */
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
    if (size > maxBytes) throw this.#foreign(path, `its answer is larger than ${maxBytes} bytes`);
    return Buffer.concat(chunks);
  }

  /** Of a body, unpacked. */
  async #pieces(path: string, response: IncomingMessage): Promise<AsyncIterable<Uint8Array>> {
    const coding = response.headers['content-encoding'];
    const unpacked = await unpack(response, coding);
    if (unpacked !== undefined) return unpacked as AsyncIterable<Uint8Array>;
    response.destroy();
    throw this.#foreign(
      path,
      `its answer has the coding ${printable(coding ?? '')}, which was not asked for`,
    );
  }

  #foreign(path: string, what: string, status = 200): KrmhubError {
    return new UnexpectedResponse(
      status >= 500 ? 'unavailable' : 'unreachable',
      `no krmhub registry answers at ${this.url}: ${what}`,
      {
        hint: `Check the registry's address (--registry or KRMHUB_REGISTRY); ${path.startsWith('/') ? this.url + path : path} was asked for.`,
        status,
      },
    );
  }

  #unreachable(error: unknown, signal: AbortSignal): KrmhubError {
    const reason = signal.aborted ? `no answer within ${this.#timeout / 1000} seconds` : networkReason(error);
    return new KrmhubError('unreachable', `cannot reach the registry at ${this.url}: ${reason}`, {
      cause: error,
      hint: 'Is the registry running? Start one with `krmhub serve`, or name another with --registry or KRMHUB_REGISTRY.',
    });
  }
}

function isGood({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** An http or https URL without credentials, query or fragment; throws `usage` for anything else. */
export function parseRegistryUrl(text: string): URL {
  const hint = 'Give a URL such as https://krm.example.com or http://localhost:8080.';
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new KrmhubError('usage', `"${printable(text)}" is not the URL of a registry`, { hint });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new KrmhubError('usage', `"${printable(text)}" is not an http or https URL`, { hint });
  }
  if (url.username !== '' || url.password !== '') {
    throw new KrmhubError('usage', 'the URL of the registry holds a user name or password', {
      hint: 'Use `krmhub login` or KRMHUB_TOKEN instead: URLs end up in logs.',
    });
  }
  if (url.search !== '' || url.hash !== '') {
    throw new KrmhubError('usage', 'the URL of the registry has a query or a fragment', { hint });
  }
  return url;
}

function queryText(query: Call['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const item of typeof value === 'object' ? value : [value]) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

interface EncodedBody {
  bytes: Uint8Array | string;
  contentType: string;
}

async function encodeBody({ body, contentType }: Call): Promise<EncodedBody | undefined> {
  if (body === undefined) return undefined;
  if (!(typeof body === 'string' || body instanceof Uint8Array)) {
    const form = new Response(body);
    return {
      bytes: new Uint8Array(await form.arrayBuffer()),
      contentType: form.headers.get('content-type') ?? '',
    };
  }
  return { bytes: body, contentType: contentType ?? 'application/octet-stream' };
}

/** RFC 9110 has dates in Retry-After too, which our registry does not send. */
function secondsOf(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
}

/** Undefined for a coding that was not asked for. */
async function unpack(response: IncomingMessage, coding: string | undefined): Promise<Readable | undefined> {
  if (coding === undefined || coding === 'identity') return response;
  if (coding !== 'gzip' && coding !== 'br') return undefined;
  const [{ pipeline }, { createBrotliDecompress, createGunzip }] = await Promise.all([
    import('node:stream'),
    import('node:zlib'),
  ]);
  // Errors reach who reads the unpacked bytes.
  return pipeline(response, coding === 'gzip' ? createGunzip() : createBrotliDecompress(), () => undefined);
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(code);
}
