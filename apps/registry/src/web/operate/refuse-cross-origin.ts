import { KrmhubError } from '@krmhub/schema';
import type { RegistryContext } from '../../http/context.js';
import { OPERATE } from '../addresses.js';
import type { Site } from '../site.js';

/**
 * Throws `forbidden` for a form that no page of the registry sent. It checks headers that browsers set and pages
 * cannot change: every browser sends Origin with a form, and Sec-Fetch-Site must agree if it is sent.
 */
export function refuseCrossOrigin(c: RegistryContext, { publicUrl }: Site): void {
  const site = c.req.header('sec-fetch-site');
  const isOwn = isOwnOrigin(c, c.req.header('origin'), publicUrl);
  if (isOwn && (site === undefined || site === 'same-origin')) return;
  throw new KrmhubError('forbidden', 'nothing was changed: the form is not from a page of this registry', {
    hint:
      publicUrl === undefined
        ? `Open ${OPERATE}, and submit the form there. Behind a proxy, set KRMHUB_PUBLIC_URL.`
        : `Open ${publicUrl}${OPERATE}, and submit the form there.`,
  });
}

/** Without a public URL, the origin is the host of the request: a cookie belongs to that host too. */
function isOwnOrigin(c: RegistryContext, origin: string | undefined, publicUrl: string | undefined): boolean {
  if (origin === undefined) return false;
  if (publicUrl !== undefined) return origin === new URL(publicUrl).origin;
  const host = c.req.header('host') ?? new URL(c.req.url).host;
  return origin === `http://${host}` || origin === `https://${host}`;
}
