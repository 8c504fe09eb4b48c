import { sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { bytesResponse, CACHE_REVALIDATE } from '../http/bytes-response.js';
import { codedBody } from '../http/coded-body.js';
import { negotiateCoding } from '../http/content-coding.js';
import type { RegistryContext } from '../http/context.js';
import type { Derivation } from '../workers/derive/derivation.js';
import type { DerivedDocuments } from '../workers/derive/derived-documents.js';
import { Layout, type PageHead } from './layout.js';
import { type Site, SiteProvider } from './site.js';

/** Only files of the registry: no inline script or style, nothing from other sites, no frame. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "script-src-attr 'none'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Of a page with "Try it": its frame is the only response of the registry that a page may frame. */
export const FRAMING_PAGE_POLICY = `${PAGE_POLICY}; frame-src 'self'`;

export interface Page {
  head: PageHead;
  /** Content of `main`. */
  body: Child;
  /** Default: 200. */
  status?: ContentfulStatusCode;
  headers?: Record<string, string>;
  /** Default: `no-cache`. Caches must revalidate, and mostly get a 304. */
  cacheControl?: string;
}

const HTML = 'text/html; charset=utf-8';

/** Responds with a page that is rendered once. If the client has it, nothing is rendered. */
export function derivedPageResponse<Input extends { isIndexed: boolean }>(
  c: RegistryContext,
  derived: DerivedDocuments,
  derivation: Derivation<Input>,
  input: Input,
  policy = PAGE_POLICY,
): Promise<Response> {
  return derived.respond(c, derivation, input, {
    mediaType: HTML,
    cacheControl: CACHE_REVALIDATE,
    headers: pageHeaders(input, policy),
    coded: true,
  });
}

/** The same URL responds to programs with a problem, and to browsers with a page. */
function pageHeaders({ isIndexed }: { isIndexed?: boolean }, policy = PAGE_POLICY): Record<string, string> {
  return {
    'Content-Security-Policy': policy,
    Vary: 'Accept',
    ...defined({ 'X-Robots-Tag': isIndexed === false ? 'noindex' : undefined }),
  };
}

/** Responds with a page, with its policy and ETag, in the coding that the client prefers. */
export async function pageResponse(c: RegistryContext, site: Site, page: Page): Promise<Response> {
  const { status = 200, cacheControl = CACHE_REVALIDATE } = page;
  const bytes = renderPage(site, page);
  const headers = { ...page.headers, ...pageHeaders(page.head) };
  if (status === 200) {
    return bytesResponse(c, {
      digest: sha256(bytes),
      mediaType: HTML,
      cacheControl,
      headers,
      coded: true,
      find: (coding) => codedBody(bytes, coding),
    });
  }
  const { coding, body } = await codedBody(bytes, negotiateCoding(c.req.header('accept-encoding')));
  return c.newResponse(c.req.method === 'HEAD' ? null : (body as Uint8Array<ArrayBuffer>), status, {
    ...headers,
    Vary: 'Accept, Accept-Encoding',
    'Content-Type': HTML,
    'Cache-Control': cacheControl,
    ...defined({ 'Content-Encoding': coding === 'identity' ? undefined : coding }),
  });
}

/** Returns the document in UTF-8. */
export function renderPage(site: Site, { head, body }: Page): Uint8Array {
  const document = (
    <SiteProvider value={site}>
      <Layout head={head}>{body}</Layout>
    </SiteProvider>
  );
  return new TextEncoder().encode(`<!doctype html>${document}`);
}
