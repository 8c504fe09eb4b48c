import type { RegistryContext, RegistryParts } from '../../environment.js';
import { failureAnswer, problemAnswer } from '../../problem-answer.js';
import { pageAnswer } from '../page-answer.js';
import type { Site } from '../site.js';
import { failsWithPage } from '../wants-page.js';
import { ErrorPage } from './error-page.js';

/** Any failure, as a page for browsers and as a problem for programs; the words are the same. */
export function errorAnswer(
  c: RegistryContext,
  failure: unknown,
  site: Site,
  parts: Pick<RegistryParts, 'log' | 'config'>,
): Response | Promise<Response> {
  if (!failsWithPage(c)) return problemAnswer(c, failure, parts);
  const { problem, status, headers } = failureAnswer(c, failure, parts);
  const { 'Cache-Control': cacheControl = 'no-store', ...others } = headers;
  return pageAnswer(c, site, {
    head: { title: problem.title, path: c.req.path, isIndexed: false },
    body: <ErrorPage problem={problem} />,
    status,
    headers: others,
    cacheControl,
  });
}
