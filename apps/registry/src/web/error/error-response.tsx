/**
 * Failures as pages for browsers, and as problems for programs.
 *
 * @module
 */

import type { RegistryContext } from '../../http/context.js';
import type { ProblemDeps } from '../../http/problem-response.js';
import { failureResponse, problemResponse } from '../../http/problem-response.js';
import { TooManyRequests } from '../../http/too-many-requests.js';
import { MissingName } from '../../store/missing-name.js';
import { errorsWithPage } from '../accepts-page.js';
import { isOperatorPath } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import type { Site } from '../site.js';
import { ErrorPage } from './error-page.js';

/** Responds to any failure: with a page for browsers, with a problem for programs. The texts are the same. */
export function errorResponse(
  c: RegistryContext,
  failure: unknown,
  site: Site,
  deps: ProblemDeps,
): Response | Promise<Response> {
  if (!errorsWithPage(c)) return problemResponse(c, failure, deps);
  const failed = failure instanceof TooManyRequests ? failure : (countedPage(c) ?? failure);
  const { problem, status, headers } = failureResponse(c, failed, deps);
  const { 'Cache-Control': cacheControl = 'no-store', ...others } = headers;
  if (isOverLimit(c)) {
    // A page would cost what the limit saves.
    const text = [problem.detail, problem.hint].map((words) => `${words}\n`).join('');
    return c.body(text, status, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' });
  }
  return pageResponse(c, site, {
    head: { title: problem.title, path: c.req.path, isIndexed: false },
    body: (
      <ErrorPage
        problem={problem}
        near={failed instanceof MissingName ? failed.near : []}
        signInFrom={status === 404 && maySeeMore(c) ? c.req.path + new URL(c.req.url).search : undefined}
      />
    ),
    status,
    headers: others,
    cacheControl,
  });
}

/** Whether the registry hides something, and nobody is signed in. Pages for operators ask for that themselves. */
function maySeeMore(c: RegistryContext): boolean {
  return !isOperatorPath(c.req.path) && c.get('findVisitor') !== undefined && c.get('visitor') === undefined;
}

/** Counts an error page as a read if the request was not counted; returns the refusal if that exceeds the limit. */
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

/** Reports whether the failure is an exceeded limit of reads. A refused token responds with a page. */
function isOverLimit(c: RegistryContext): boolean {
  const allowance = c.get('allowance');
  return allowance?.policy === 'requests' && !allowance.allowed;
}
