import type { Source } from '@krmhub/api/model';
import { SOURCE_PROBLEM_HINTS } from '@krmhub/schema/source-problem';
import { relativeTime } from '../../io/time.js';

/** Returns how to fix a failed source, and what the catalog uses until then. */
export function hintFor({ problem, copy }: Source, now: Date): string {
  const meanwhile =
    copy === undefined
      ? 'Until then, the catalog contains no entries of this source.'
      : `Until then, the catalog uses the last good copy, fetched ${relativeTime(copy.fetchedAt, now)}.`;
  const hint = problem === undefined ? undefined : SOURCE_PROBLEM_HINTS[problem];
  return hint === undefined ? meanwhile : `${hint} ${meanwhile}`;
}
