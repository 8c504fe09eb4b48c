import type { Site } from '../site.js';

/** Paths that are too many, or that are for programs and operators. */
const LEFT_ALONE = [
  '/functions?',
  '/functions/*/compare',
  '/catalogs/*/compare',
  '/suggestions',
  '/cli/',
  '/operate/',
  '/sign-in',
  '/api/',
  '/v2/',
];

/** Returns robots.txt (RFC 9309). Crawlers read it only if the registry is at the root of its host. */
export function robotsText({ at, whole, publicUrl }: Site): string {
  const rules = LEFT_ALONE.map((path) => `Disallow: ${at(path)}\n`).join('');
  return `User-agent: *\n${rules}${publicUrl === undefined ? '' : `\nSitemap: ${whole('/sitemap.xml')}\n`}`;
}
