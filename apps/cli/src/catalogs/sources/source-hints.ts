import type { Source } from '@krmhub/api/model';
import { SOURCE_PROBLEM_HINTS } from '@krmhub/schema/source-problem';
import { relativeTime } from '../../io/time.js';

/** What to do about a source that failed, and what is used until then. */
export function hintFor({ problem, copy }: Source, now: Date): string {
  const meanwhile =
    copy === undefined
      ? 'Until then nothing of it is taken.'
      : `Until then the last good copy is used, fetched ${relativeTime(copy.fetchedAt, now)}.`;
  const hint = problem === undefined ? undefined : SOURCE_PROBLEM_HINTS[problem];
  return hint === undefined ? meanwhile : `${hint} ${meanwhile}`;
}
