import type { Site } from '../site.js';

/** Paths of which there are more than functions and catalogs, or that are for programs and operators. */
const LEFT_ALONE = [
  '/functions?',
  '/functions/*/compare',
  '/catalogs/*/compare',
  '/suggestions',
  '/operate/',
  '/api/',
  '/v2/',
];

/** RFC 9309. Crawlers read it where the registry stands at the root of its host. */
export function robotsText({ at }: Site): string {
  return `User-agent: *\n${LEFT_ALONE.map((path) => `Disallow: ${at(path)}\n`).join('')}`;
}
