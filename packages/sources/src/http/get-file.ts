import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { defined } from '@krmhub/schema/defined';
import { printable } from '@krmhub/schema/network-reason';
import { parseUrl } from '@krmhub/schema/parse-url';
import { credentialsFor, type SourceContext, type SourceCredentials } from '../context.js';
import { SourceFailure } from '../failure.js';
import { parseRetryAfter, withRetries } from '../retry.js';
import { exchange } from './exchange.js';
import type { GuardedAgents } from './guarded-agents.js';
import { readBody, streamBody } from './read-body.js';

export interface GetOptions {
  agents: GuardedAgents;
  context: SourceContext;
  /** Headers of a conditional request. Without them, a 304 response is an error. */
  conditions?: Record<string, string>;
  maxBytes: number;
  onProgress?: ((bytes: number) => void) | undefined;
}

export type GetResult =
  | { changed: true; bytes: Uint8Array; headers: IncomingHttpHeaders; html: boolean }
  | { changed: false };

const REDIRECTS = [301, 302, 303, 307, 308];
/** HTTP statuses that a retry may fix. */
const TEMPORARY_STATUSES = [408, 429, 500, 502, 503, 504];

/** Fetches a file with HTTP and follows redirects. Rejects with SourceFailures only. */
export function getFile(first: URL, options: GetOptions): Promise<GetResult> {
  const { conditions = {}, maxBytes, onProgress } = options;
  const request: RequestOptions<GetResult> = {
    ...options,
    headers: { ...CATALOG_HEADERS, ...conditions },
    isConditional: Object.keys(conditions).length > 0,
    read: async (response, touch, what) => {
      if (response.statusCode === 304) return { changed: false };
      const bytes = await readBody(response, { what, maxBytes, touch, onProgress });
      const html = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(
        response.headers['content-type'] ?? '',
      );
      return { changed: true, bytes, headers: response.headers, html };
    },
  };
  return withRetries(() => follow(first, request), options.context);
}

/** Streams a file with HTTP and follows redirects. Calls `consume` again for a retry. */
export function streamFile<Result>(
  first: URL,
  options: Omit<GetOptions, 'conditions'>,
  consume: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const { maxBytes, onProgress } = options;
  const request: RequestOptions<Result> = {
    ...options,
    headers: FILE_HEADERS,
    isConditional: false,
    read: (response, touch, what) => streamBody(response, { what, maxBytes, touch, onProgress }, consume),
  };
  return withRetries(() => follow(first, request), options.context);
}

const CATALOG_HEADERS = {
  Accept: 'application/yaml, application/json;q=0.9, */*;q=0.8',
  'Accept-Encoding': 'gzip, identity',
};
/** Digests of files are those of the bytes that a server stores. */
const FILE_HEADERS = { Accept: '*/*', 'Accept-Encoding': 'identity' };

/** Statuses of servers that require credentials, or hide what they have from a client without them. */
const REFUSALS = [401, 403, 404];

type Sent<Result> = { result: Result } | { redirect: URL } | { refused: number; failure: SourceFailure };

interface RequestOptions<Result> {
  agents: GuardedAgents;
  context: SourceContext;
  headers: Record<string, string>;
  /** Whether 304 is an answer. */
  isConditional: boolean;
  read(response: IncomingMessage, touch: () => void, what: string): Promise<Result>;
}

/**
 * Sends credentials with the first request only if there are some before it. Otherwise, it sends them again to a URL of
 * the same origin that refused, and from then on with the first request to that URL.
 */
async function follow<Result>(first: URL, options: RequestOptions<Result>): Promise<Result> {
  const { context } = options;
  const always = await credentialsFor(first.origin, { type: 'http' }, context);
  let own = true;
  let url = first;
  for (let redirects = 0; ; ) {
    const place = url.origin + url.pathname;
    const credentials: SourceCredentials | undefined = own
      ? (always ?? context.refused.get(place))
      : undefined;
    const got: Sent<Result> = await sendRequest(url, { ...options, credentials });
    if ('result' in got) return got.result;
    if ('refused' in got) {
      const found = own ? await credentialsAfter(got.refused, first.origin, context) : undefined;
      if (found === undefined) throw got.failure;
      context.refused.set(place, found);
      continue;
    }
    if (redirects++ >= context.limits.maxRedirects) {
      throw new SourceFailure(
        'too-many-redirects',
        `${first.host}: more than ${context.limits.maxRedirects} redirects`,
        { hint: 'Use the final URL of the catalog.' },
      );
    }
    checkRedirect(url, got.redirect);
    // Not even after a redirect back to the first origin, because another server chose the target.
    own &&= got.redirect.origin === first.origin;
    url = got.redirect;
  }
}

/** Returns credentials for what a server refused. Why there are none matters only if it requires some. */
async function credentialsAfter(
  refused: number,
  origin: string,
  context: SourceContext,
): Promise<SourceCredentials | undefined> {
  try {
    return await credentialsFor(origin, { type: 'http', refused }, context);
  } catch (error) {
    if (refused === 401 || context.deadline.failure !== undefined) throw error;
    return undefined;
  }
}

function sendRequest<Result>(
  url: URL,
  options: RequestOptions<Result> & { credentials: SourceCredentials | undefined },
): Promise<Sent<Result>> {
  const { agents, context, headers: own, isConditional, read, credentials } = options;
  const headers = {
    'User-Agent': context.options.userAgent,
    ...own,
    Connection: 'close',
    ...defined({ Authorization: credentials === undefined ? undefined : authorization(credentials) }),
  };
  return exchange(url, { headers, agents, context }, async (response, touch) => {
    const status = response.statusCode ?? 0;
    if (REDIRECTS.includes(status)) {
      // What another server gives for the target, which may have a signature, is for the same credentials.
      if (credentials !== undefined) context.sent = credentials;
      return { redirect: redirectTarget(url, status, response.headers.location) };
    }
    if (status !== 200 && !(status === 304 && isConditional)) {
      const problem = await readProblem(response, touch);
      const known = credentials !== undefined;
      if (known && refusesCredentials(response)) context.invalid = credentials;
      const failure = statusFailure(url, status, response.headers, { known, problem });
      if (!known && REFUSALS.includes(status)) return { refused: status, failure };
      throw failure;
    }
    if (credentials !== undefined) context.sent = credentials;
    return { result: await read(response, touch, `${url.host}${printable(url.pathname, 100)}`) };
  });
}

export function authorization(credentials: SourceCredentials): string {
  if ('token' in credentials) return `Bearer ${credentials.token}`;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Whether a response refuses the credentials themselves: a krmhub registry hides what it has with 404 (RFC 6750). */
function refusesCredentials({ statusCode, headers }: IncomingMessage): boolean {
  if (isAway(headers)) return false;
  return statusCode === 401 || /\berror="invalid_token"/.test(headers['www-authenticate'] ?? '');
}

/** Whether a krmhub registry cannot ask now whose token it is, and responds as without one. */
function isAway(headers: IncomingHttpHeaders): boolean {
  return /\berror="temporarily_unavailable"/.test(headers['www-authenticate'] ?? '');
}

function redirectTarget(from: URL, status: number, location: string | undefined): URL {
  const url = location === undefined ? undefined : parseUrl(location, from);
  if (url !== undefined) return url;
  throw new SourceFailure(
    'bad-answer',
    `${from.host} responded with ${status}, but without a valid Location header`,
  );
}

function checkRedirect(from: URL, to: URL): void {
  const refused = (why: string) =>
    new SourceFailure('forbidden-address', `${from.host} redirects to ${printable(to.origin)}, ${why}`, {
      hint: 'If you trust it, use the final URL of the catalog.',
    });
  if (to.protocol !== 'https:' && to.protocol !== 'http:') {
    throw new SourceFailure(
      'forbidden-address',
      `${from.host} redirects to ${printable(to.href, 100)}, which is not an http or https URL`,
    );
  }
  if (to.username + to.password !== '') throw refused('which contains credentials');
  if (from.protocol === 'https:' && to.protocol === 'http:') throw refused('which does not use TLS');
}

/** Bytes of the description of an error that are read. */
const MAX_PROBLEM_BYTES = 65_536;

/** What an error response of a krmhub registry says (RFC 9457). */
interface Problem {
  code: string;
  /** The detail with the hint, in one line; empty if there is none. */
  text: string;
}

/** Returns what an error response of a krmhub registry says; undefined for other servers. */
async function readProblem(response: IncomingMessage, touch: () => void): Promise<Problem | undefined> {
  if (!/^application\/problem\+json\b/i.test(response.headers['content-type'] ?? '')) return undefined;
  try {
    const bytes = await readBody(response, { what: 'the error', maxBytes: MAX_PROBLEM_BYTES, touch });
    const { code, detail, hint } = JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>;
    if (typeof code !== 'string') return undefined;
    const words = [detail, hint].flatMap((text) => (typeof text === 'string' ? printable(text, 200) : []));
    return { code, text: words.join('. ') };
  } catch {
    // The status says what matters.
    return undefined;
  }
}

function statusFailure(
  url: URL,
  status: number,
  headers: IncomingHttpHeaders,
  { known, problem }: { known: boolean; problem: Problem | undefined },
): SourceFailure {
  const responseCode = problem?.code;
  const what = `${url.host} responded with ${status} for ${printable(url.pathname, 100)}`;
  const said = problem === undefined || problem.text === '' ? what : `${url.host}: ${problem.text}`;
  const ofKrmhub = problem === undefined ? '' : ': commands use those of `krmhub login`';
  if (known && isAway(headers)) {
    return new SourceFailure('unreachable', said, {
      hint: 'The server cannot confirm the credentials now. Try again in a minute.',
      isTemporary: true,
      responseCode,
    });
  }
  if (status === 401 || status === 403) {
    return new SourceFailure('unauthorized', said, {
      hint: known
        ? `Check that the credentials for ${url.origin} allow access.`
        : `Configure credentials for ${url.origin} if the server requires them.`,
      responseCode,
      isRefusal: true,
    });
  }
  if (status === 407) {
    return new SourceFailure(
      'unauthorized',
      `the proxy for ${url.host} requires a user name and a password`,
      {
        hint: 'Correct the URL of the proxy in HTTPS_PROXY or HTTP_PROXY.',
      },
    );
  }
  if (status === 404 || status === 410) {
    return new SourceFailure('not-found', said, {
      hint:
        status === 410
          ? 'The server removed it. Use another catalog, or ask the operator of the server.'
          : known
            ? `Check the URL, that the catalog still exists, and that the credentials for ${url.origin} allow access.`
            : `Check the URL and that the catalog still exists. If it is private, configure credentials for ${url.origin}${ofKrmhub}.`,
      responseCode,
      isRefusal: true,
    });
  }
  if (TEMPORARY_STATUSES.includes(status)) {
    const wait = parseRetryAfter(headers['retry-after'], Date.now());
    const asks = wait === undefined ? '' : `, Retry-After ${Math.ceil(wait / 1_000)} s`;
    return new SourceFailure('unreachable', `${what}${asks}`, {
      hint: 'The server is temporarily unavailable. Try again later.',
      isTemporary: true,
      retryAfterMilliseconds: wait,
      responseCode,
    });
  }
  if (status === 304) {
    return new SourceFailure('bad-answer', `${what}, but the request was not conditional`);
  }
  return new SourceFailure('bad-answer', `${what}, expected 200`);
}
