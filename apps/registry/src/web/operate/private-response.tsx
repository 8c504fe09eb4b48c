import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { RegistryContext } from '../../http/context.js';
import type { PageHead } from '../layout.js';
import { PAGE_POLICY, renderPage } from '../page-response.js';
import type { Site } from '../site.js';

export interface PrivatePage {
  head: Pick<PageHead, 'title' | 'path' | 'next'>;
  body: Child;
  /** Default: 200. */
  status?: ContentfulStatusCode;
}

/**
 * Responds with a page for one client. It is not cached, so it needs no ETag. It is not compressed: the compressed
 * size reveals secrets to an attacker who can add text to the page.
 */
export function privateResponse(
  c: RegistryContext,
  site: Site,
  { head, body, status = 200 }: PrivatePage,
): Response {
  const bytes = renderPage(site, { head: { ...head, section: 'operate', isIndexed: false }, body });
  return c.newResponse(bytes as Uint8Array<ArrayBuffer>, status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': PAGE_POLICY,
    'X-Robots-Tag': 'noindex',
  });
}
