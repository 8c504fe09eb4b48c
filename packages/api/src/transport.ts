import { ERROR_CODES, type ErrorCode, KrmhubError } from '@krmhub/schema/error';
import { mismatch, type Shape } from './answer-shape.js';
import type { Problem } from './model.js';

/** A failure that the registry told of, as against one on the way to it. */
export class RegistryError extends KrmhubError {
  readonly registry: string;
  readonly status: number;
  readonly requestId: string | undefined;

  constructor(registry: string, problem: Omit<Problem, 'code'> & { code: ErrorCode }) {
    super(problem.code, problem.detail, {
      ...(problem.hint === undefined ? {} : { hint: problem.hint }),
      ...(problem.diagnostics === undefined
        ? {}
        : {
            diagnostics: problem.diagnostics.map(({ range, hint, ...diagnostic }) => ({
              ...diagnostic,
              ...(range === undefined ? {} : { range }),
              ...(hint === undefined ? {} : { hint }),
            })),
          }),
    });
    this.registry = registry;
    this.status = problem.status;
    this.requestId = problem.requestId;
  }
}

export interface TransportOptions {
  /** Where the registry is, such as `https://krm.example.com`; a path in front of its own is kept. */
  url: string;
  /** Sent as a bearer token, to this origin only. */
  token?: string;
  userAgent?: string;
  /** For one whole call, its body included. Default 60,000. */
  timeoutMilliseconds?: number;
}

export interface Call {
  method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Entries that are undefined are left out; lists are repeated. */
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: Uint8Array<ArrayBuffer> | string | FormData;
  contentType?: string;
  accept: string;
  maxBytes: number;
}

export interface Answer {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

const DEFAULT_TIMEOUT_MILLISECONDS = 60_000;
const MAX_REDIRECTS = 3;
const PROBLEM_BYTES = 4_194_304;
const JSON_BYTES = 33_554_432;

const PROBLEM_SHAPE: Shape = {
  title: 'string',
  status: 'number',
  code: 'string',
  detail: 'string',
  'hint?': 'string',
  'requestId?': 'string',
  'diagnostics?': [
    {
      code: 'string',
      severity: 'string',
      message: 'string',
      file: 'string',
      path: 'string',
      'hint?': 'string',
      'range?': { start: { line: 'number', column: 'number' }, end: { line: 'number', column: 'number' } },
    },
  ],
};

/** Requests to one registry, under limits. Rejects with KrmhubErrors only. */
export class Transport {
  /** Without a slash at its end. */
  readonly url: string;
  readonly #origin: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;

  constructor(options: TransportOptions) {
    const url = parseRegistryUrl(options.url);
    this.#origin = url.origin;
    this.url = url.origin + url.pathname.replace(/\/+$/, '');
    this.#timeout = options.timeoutMilliseconds ?? DEFAULT_TIMEOUT_MILLISECONDS;
    this.#headers = { 'User-Agent': options.userAgent ?? 'krmhub' };
    if (options.token !== undefined) {
      if (!/^[\x21-\x7e]+$/.test(options.token)) {
        throw new KrmhubError('usage', 'the token has characters that no token has', {
          hint: 'Check that the whole token was copied, on one line and without quotes.',
        });
      }
      this.#headers['Authorization'] = `Bearer ${options.token}`;
    }
  }

  /** The JSON of an answer, checked against its shape. */
  async json<T>(path: string, shape: Shape, call: Omit<Call, 'accept' | 'maxBytes'> = {}): Promise<T> {
    const answer = await this.send(path, { ...call, accept: 'application/json', maxBytes: JSON_BYTES });
    const type = answer.headers.get('content-type') ?? 'no media type';
    if (!/^application\/([\w.-]+\+)?json\b/i.test(type))
      throw this.#foreign(path, `it answered with ${printable(type)}, not JSON`);
    const value = parseJson(answer.bytes);
    if (value === undefined) throw this.#foreign(path, 'its answer is not JSON');
    const wrong = mismatch(value, shape);
    if (wrong !== undefined) throw this.#foreign(path, `its answer lacks what is expected at "${wrong}"`);
    return value as T;
  }

  /** The answer with a status of 2xx. */
  async send(path: string, call: Call): Promise<Answer> {
    let target = this.url + path + queryText(call.query);
    const signal = AbortSignal.timeout(this.#timeout);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#fetch(target, call, signal);
      if (response.status < 300 || response.status >= 400) return this.#read(path, response, call.maxBytes);
      await response.body?.cancel();
      target = this.#redirected(target, response, call, redirects);
    }
  }

  async #fetch(target: string, call: Call, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers, Accept: call.accept };
    if (call.contentType !== undefined) headers['Content-Type'] = call.contentType;
    try {
      return await fetch(target, {
        method: call.method ?? 'GET',
        headers,
        redirect: 'manual',
        signal,
        ...(call.body === undefined ? {} : { body: call.body }),
      });
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  /** A token must not follow a redirect to another origin, so no request does. */
  #redirected(from: string, response: Response, call: Call, redirects: number): string {
    const location = response.headers.get('location');
    const to = location !== null && URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (to === undefined) throw this.#foreign(from, `it answered ${response.status} without a place to go`);
    if (to.origin !== this.#origin || (call.method ?? 'GET') !== 'GET') {
      throw new KrmhubError('unreachable', `${this.url} redirects to ${printable(to.origin + to.pathname)}`, {
        hint: `Redirects are not followed there. If you trust it, name it as the registry: --registry ${printable(to.origin)}`,
      });
    }
    if (redirects >= MAX_REDIRECTS)
      throw this.#foreign(from, `it redirects more than ${MAX_REDIRECTS} times`);
    return to.href;
  }

  async #read(path: string, response: Response, maxBytes: number): Promise<Answer> {
    const bytes = await this.#body(path, response, response.ok ? maxBytes : PROBLEM_BYTES);
    if (response.ok) return { status: response.status, headers: response.headers, bytes };
    const type = response.headers.get('content-type') ?? '';
    const problem = /^application\/problem\+json\b/i.test(type) ? parseJson(bytes) : undefined;
    if (problem === undefined || mismatch(problem, PROBLEM_SHAPE) !== undefined) {
      throw this.#foreign(
        path,
        `it answered ${response.status}${type === '' ? '' : ` with ${printable(type)}`}`,
        response.status,
      );
    }
    const told = problem as Problem;
    throw new RegistryError(this.url, { ...told, code: isErrorCode(told.code) ? told.code : 'internal' });
  }

  async #body(path: string, response: Response, maxBytes: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        if (size > maxBytes) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (size > maxBytes) throw this.#foreign(path, `its answer is larger than ${maxBytes} bytes`);
    return Buffer.concat(chunks);
  }

  #foreign(path: string, what: string, status = 200): KrmhubError {
    return new KrmhubError(
      status >= 500 ? 'unavailable' : 'unreachable',
      `no krmhub registry answers at ${this.url}: ${what}`,
      {
        hint: `Check the registry's address (--registry or KRMHUB_REGISTRY); ${path.startsWith('/') ? this.url + path : path} was asked for.`,
      },
    );
  }

  #unreachable(error: unknown): KrmhubError {
    const reason = networkReason(error, this.#timeout);
    return new KrmhubError('unreachable', `cannot reach the registry at ${this.url}: ${reason}`, {
      cause: error,
      hint: 'Is the registry running? Start one with `krmhub serve`, or name another with --registry or KRMHUB_REGISTRY.',
    });
  }
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

/** Text of the other side in our messages: short, and without anything that a terminal would act on. */
function printable(text: string): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?');
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was cut',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'a certificate of its chain is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
};

function networkReason(error: unknown, timeout: number): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${timeout / 1000} seconds`;
  for (
    let cause: unknown = error, depth = 0;
    cause instanceof Error && depth < 5;
    cause = cause.cause, depth++
  ) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (REASONS[code] !== undefined) return REASONS[code];
    if (cause.cause === undefined) return printable(cause.message === '' ? code : cause.message);
  }
  return printable(String(error));
}
