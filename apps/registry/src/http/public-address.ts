import { PATHS } from '@krmhub/api/paths';
import { parseUrl } from '@krmhub/schema/parse-url';

export interface PublicAddress {
  /** Where clients reach the registry, without a trailing slash; absent if unknown. */
  publicUrl?: string;
}

/**
 * Returns an address of the registry for a response: absolute if the public URL is known, otherwise relative to the
 * host of the request. The headers of proxies never get into a response, and the Host header as `requestedUrl` says.
 */
export function publicAddress({ publicUrl }: PublicAddress, path: string): string {
  return `${publicUrl ?? ''}${path}`;
}

const HOST = /^[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$|^\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?$/;

/**
 * Returns the URL under which a client reached the registry; undefined if its Host header is no host. The header can be
 * forged: only a response that no cache stores may have it, and only without a public URL.
 */
export function requestedUrl(request: {
  url: string;
  header(name: string): string | undefined;
}): string | undefined {
  const host = request.header('host') ?? new URL(request.url).host;
  return HOST.test(host) ? `http://${host}` : undefined;
}

/**
 * Returns the target of a request for the routes. Removes scheme and authority, which RFC 9112 permits and nothing
 * here may depend on. Removes the path of the public URL: some proxies remove it and some do not. Dots and
 * percent-encoding do not change.
 */
export function requestTarget({ publicUrl }: PublicAddress): (target: string) => string {
  const path = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  return (sent) => {
    const target = sent.startsWith('/') ? sent : originForm(sent);
    if (path === '' || !target.startsWith(path)) return target;
    const rest = target.slice(path.length);
    if (rest === '' || rest.startsWith('?')) return `/${rest}`;
    return rest.startsWith('/') ? rest : target;
  };
}

function originForm(target: string): string {
  const authority = /^https?:\/\/[^/?#]*/i.exec(target)?.[0];
  if (authority === undefined) return target;
  const rest = target.slice(authority.length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** First segments of the registry's own paths. */
const OWN_SEGMENTS = new Set([
  'v2',
  'functions',
  'functions.atom',
  'login',
  'operate',
  'scim',
  'sign-in',
  'sign-out',
  'assets',
  'suggestions',
  'opensearch.xml',
  'robots.txt',
  'favicon.ico',
  ...Object.values(PATHS).map((path) => path.split('/')[1]),
]);

/** Returns what is wrong with a public URL, as the end of a message; undefined if it is valid. */
export function publicUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  const http = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === undefined || !http || url.username + url.password + url.search + url.hash !== '') {
    return 'is not an http or https URL without user, query, and fragment';
  }
  if (!/^[\w./~-]*$/.test(url.pathname) || url.pathname.includes('//')) {
    return 'has a path with characters other than letters, digits, -, ., _, ~, and single slashes';
  }
  const [, first = ''] = url.pathname.split('/');
  // Behind a proxy that removes the path, a request for the registry's own path would look like one with it.
  return OWN_SEGMENTS.has(first) ? `has a path that begins with /${first}, which is reserved` : undefined;
}

/** Returns the URL without a trailing slash. */
export function canonicalPublicUrl(text: string): string {
  const url = new URL(text);
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

/** Returns the address of a configuration, without the rest of it. */
export function pickPublicUrl({ publicUrl }: PublicAddress): PublicAddress {
  return publicUrl === undefined ? {} : { publicUrl };
}
