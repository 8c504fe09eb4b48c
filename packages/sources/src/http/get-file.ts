import type { IncomingHttpHeaders } from 'node:http';
import { printable } from '@krmhub/schema/network-reason';
import { credentialsFor, type SourceContext, type SourceCredentials } from '../context.js';
import { SourceFailure } from '../failure.js';
import { parseRetryAfter, withRetries } from '../retry.js';
import { exchange } from './exchange.js';
import type { GuardedAgents } from './guarded-agents.js';
import { readBody } from './read-body.js';

export interface GetOptions {
  agents: GuardedAgents;
  context: SourceContext;
  /** Headers that make it conditional; without any, 304 is no answer. */
  conditions?: Record<string, string>;
  maxBytes: number;
  onProgress?: ((bytes: number) => void) | undefined;
}

export type GetResult =
  | { changed: true; bytes: Uint8Array; headers: IncomingHttpHeaders; html: boolean }
  | { changed: false };

const REDIRECTS = [301, 302, 303, 307, 308];
/** What a server says that cannot answer now. */
const TEMPORARY_STATUSES = [408, 429, 500, 502, 503, 504];

/** A file by http(s), following redirects. Rejects with SourceFailures only. */
export function getFile(first: URL, options: GetOptions): Promise<GetResult> {
  return withRetries(() => follow(first, options), options.context);
}

async function follow(first: URL, options: GetOptions): Promise<GetResult> {
  const { context } = options;
  const credentials = await context.deadline.race(credentialsFor(first.origin, context.options));
  let own = true;
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const got = await sendRequest(url, own ? credentials : undefined, options);
    if (!(got instanceof URL)) return got;
    if (redirects >= context.limits.maxRedirects) {
      throw new SourceFailure(
        'too-many-redirects',
        `${first.host} redirects more than ${context.limits.maxRedirects} times`,
        { hint: 'Write the address where the catalog is in the end.' },
      );
    }
    checkRedirect(url, got);
    // Not even where it leads back: somebody else chose the way there.
    own &&= got.origin === first.origin;
    url = got;
  }
}

function sendRequest(
  url: URL,
  credentials: SourceCredentials | undefined,
  options: GetOptions,
): Promise<GetResult | URL> {
  const { agents, context, conditions = {}, maxBytes, onProgress } = options;
  const headers = {
    'User-Agent': context.options.userAgent,
    Accept: 'application/yaml, application/json;q=0.9, */*;q=0.8',
    'Accept-Encoding': 'gzip, identity',
    Connection: 'close',
    ...conditions,
    ...(credentials === undefined ? {} : { Authorization: authorization(credentials) }),
  };
  return exchange<GetResult | URL>(url, { headers, agents, context }, async (response, touch) => {
    const status = response.statusCode ?? 0;
    if (REDIRECTS.includes(status)) return redirectTarget(url, status, response.headers.location);
    if (status === 304 && Object.keys(conditions).length > 0) return { changed: false };
    if (status !== 200) throw statusFailure(url, status, response.headers, credentials !== undefined);
    const what = `${url.host}${printable(url.pathname, 100)}`;
    const bytes = await readBody(response, { what, maxBytes, touch, onProgress });
    const html = /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(response.headers['content-type'] ?? '');
    return { changed: true, bytes, headers: response.headers, html };
  });
}

export function authorization(credentials: SourceCredentials): string {
  if ('token' in credentials) return `Bearer ${credentials.token}`;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function redirectTarget(from: URL, status: number, location: string | undefined): URL {
  if (location !== undefined && URL.canParse(location, from.href)) return new URL(location, from);
  throw new SourceFailure('bad-answer', `${from.host} answered ${status} without a place to go`);
}

function checkRedirect(from: URL, to: URL): void {
  const refused = (why: string) =>
    new SourceFailure('forbidden-address', `${from.host} redirects to ${printable(to.origin)}, ${why}`, {
      hint: 'Write the address where the catalog is in the end, if you trust it.',
    });
  if (to.protocol !== 'https:' && to.protocol !== 'http:') {
    throw new SourceFailure(
      'forbidden-address',
      `${from.host} redirects to ${printable(to.href, 100)}, which is no web address`,
    );
  }
  if (to.username + to.password !== '') throw refused('with credentials in it');
  if (from.protocol === 'https:' && to.protocol === 'http:') throw refused('which is not encrypted');
}

function statusFailure(
  url: URL,
  status: number,
  headers: IncomingHttpHeaders,
  known: boolean,
): SourceFailure {
  const what = `${url.host} answered ${status} for ${printable(url.pathname, 100)}`;
  if (status === 401 || status === 403) {
    return new SourceFailure('unauthorized', what, {
      hint: known
        ? `The credentials for ${url.origin} are not enough.`
        : `It may want credentials for ${url.origin}.`,
    });
  }
  if (status === 404 || status === 410) {
    return new SourceFailure('not-found', what, {
      hint: 'Is the address right, and the catalog still there?',
    });
  }
  if (TEMPORARY_STATUSES.includes(status)) {
    const wait = parseRetryAfter(headers['retry-after'], Date.now());
    const asks = wait === undefined ? '' : `, and asks to be left alone for ${Math.ceil(wait / 1_000)} s`;
    return new SourceFailure('unreachable', `${what}${asks}`, {
      hint: 'It cannot answer now, and is asked again later.',
      isTemporary: true,
      retryAfterMilliseconds: wait,
    });
  }
  if (status === 304) {
    return new SourceFailure('bad-answer', `${what}: "not modified", without being asked whether it is`);
  }
  return new SourceFailure('bad-answer', `${what}, where 200 was expected`);
}
