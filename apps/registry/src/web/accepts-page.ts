import { ROUTES } from '@krmhub/api/routes';
import type { RegistryContext } from '../http/context.js';

const API_PATHS = new Set<string>(Object.values(ROUTES).map(({ path }) => path));
/** Paths below these prefixes are for programs, also the unknown ones. */
const API_PREFIX = /^\/(?:api\/|(?:v2|schemas|\.well-known)(?:\/|$))/;

/**
 * Reports whether the client is a browser: Accept names text/html, and prefers no other named type. A wildcard does
 * not count.
 */
export function acceptsPage(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const weights = new Map<string, number>();
  for (const item of accept.split(',', 50)) {
    const [type = '', ...parameters] = item.split(';');
    const weight = parameters
      .map((one) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i.exec(one)?.[1])
      .find(Boolean);
    weights.set(type.trim().toLowerCase(), Math.min(Number(weight ?? 1), 1));
  }
  const html = weights.get('text/html') ?? weights.get('application/xhtml+xml') ?? 0;
  return html > 0 && html >= Math.max(weights.get('text/plain') ?? 0, weights.get('application/json') ?? 0);
}

/** Reports whether a failure responds with a page: to a browser, on a path that is not for programs. */
export function errorsWithPage(c: RegistryContext): boolean {
  const isProgram = API_PATHS.has(c.get('route')) || API_PREFIX.test(c.req.path);
  return !isProgram && acceptsPage(c.req.header('accept'));
}
