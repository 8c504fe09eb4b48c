import type { Site } from '../site.js';

/** URLs of one sitemap; sitemaps.org allows 50,000 and 50 MB. */
export const SITEMAP_URLS = 20_000;

const NAMESPACE = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** Returns the index of all sitemaps (sitemaps.org). */
export function sitemapIndex({ whole }: Site, paths: readonly string[]): string {
  const entries = paths.map((path) => `<sitemap><loc>${escaped(whole(path))}</loc></sitemap>\n`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="${NAMESPACE}">\n${entries}</sitemapindex>\n`;
}

export interface SitemapPage {
  path: string;
  /** RFC 3339. */
  changed?: string | undefined;
}

/** Returns a sitemap of pages. */
export function sitemap({ whole }: Site, pages: readonly SitemapPage[]): string {
  const entries = pages
    .map(({ path, changed }) => {
      const time = changed === undefined ? '' : `<lastmod>${escaped(changed)}</lastmod>`;
      return `<url><loc>${escaped(whole(path))}</loc>${time}</url>\n`;
    })
    .join('');
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${NAMESPACE}">\n${entries}</urlset>\n`;
}

function escaped(text: string): string {
  return text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
