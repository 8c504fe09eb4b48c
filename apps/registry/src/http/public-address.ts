import { PATHS } from '@krmhub/api/paths';

export interface PublicAddress {
  /** Where clients reach the registry, without a slash at the end; absent if unknown. */
  publicUrl?: string;
}

/**
 * An address of ours in an answer: whole where the registry's public URL is known, else relative to the host that
 * the client reached. The Host header and what proxies say of it are never put into an answer.
 */
export function publicAddress({ publicUrl }: PublicAddress, path: string): string {
  return `${publicUrl ?? ''}${path}`;
}

/**
 * The target of a request as the routes know it. Without scheme and authority, which RFC 9112 lets a client send and
 * nothing here may depend on; and without the path of the public URL: some proxies take it off and some do not.
 * Dots and percent-encoding are left as they are.
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
  'operate',
  'assets',
  'suggestions',
  'opensearch.xml',
  'robots.txt',
  'favicon.ico',
  ...Object.values(PATHS).map((path) => path.split('/')[1]),
]);

/** What is wrong with a public URL, to be read after it; undefined where nothing is. */
export function publicUrlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const http = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === undefined || !http || url.username + url.password + url.search + url.hash !== '') {
    return 'is not an http or https URL without user, query and fragment';
  }
  if (!/^[\w./~-]*$/.test(url.pathname) || url.pathname.includes('//')) {
    return 'has a path with characters other than letters, digits, -, ., _, ~ and single slashes';
  }
  const [, first = ''] = url.pathname.split('/');
  // Behind a proxy that takes the path off, a request for the registry's own path would look like one with it.
  return OWN_SEGMENTS.has(first)
    ? `has a path that begins with /${first}, which the registry uses itself`
    : undefined;
}

/** Without a slash at the end. */
export function canonicalPublicUrl(text: string): string {
  const url = new URL(text);
  return (url.origin + url.pathname).replace(/\/+$/, '');
}
