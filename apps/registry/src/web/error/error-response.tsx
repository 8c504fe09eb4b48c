import type { RegistryContext } from '../../http/context.js';
import type { ProblemDeps } from '../../http/problem-response.js';
import { failureResponse, problemResponse } from '../../http/problem-response.js';
import { TooManyRequests } from '../../http/too-many-requests.js';
import { errorsWithPage } from '../accepts-page.js';
import { pageResponse } from '../page-response.js';
import type { Site } from '../site.js';
import { ErrorPage } from './error-page.js';

/** Any failure, as a page for browsers and as a problem for programs; the words are the same. */
export function errorResponse(
  c: RegistryContext,
  failure: unknown,
  site: Site,
  deps: ProblemDeps,
): Response | Promise<Response> {
  if (!errorsWithPage(c)) return problemResponse(c, failure, deps);
  const told = failure instanceof TooManyRequests ? failure : (countedPage(c) ?? failure);
  const { problem, status, headers } = failureResponse(c, told, deps);
  const { 'Cache-Control': cacheControl = 'no-store', ...others } = headers;
  if (isOverLimit(c)) {
    // A page would cost what the limit is there to save.
    const text = [problem.detail, problem.hint].map((words) => `${words}\n`).join('');
    return c.body(text, status, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' });
  }
  return pageResponse(c, site, {
    head: { title: problem.title, path: c.req.path, isIndexed: false },
    body: <ErrorPage problem={problem} />,
    status,
    headers: others,
    cacheControl,
  });
}

/** Counts a page about what was not counted as reading, such as what is not there; a refusal where it is too much. */
function countedPage(c: RegistryContext): TooManyRequests | undefined {
  if (c.get('rateLimitClass') === 'read') return undefined;
  try {
    c.get('limits').countBy(c, 'read');
    return undefined;
  } catch (error) {
    if (error instanceof TooManyRequests) return error;
    throw error;
  }
}

/** Whether it is refused as reading; of tokens that are refused, people are told by a page. */
function isOverLimit(c: RegistryContext): boolean {
  const allowance = c.get('allowance');
  return allowance?.policy === 'requests' && !allowance.allowed;
}
