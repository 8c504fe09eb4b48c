import type { Source } from '@krmhub/api/model';
import { relativeTime } from '../output/time.js';

/** The way out, for who administers the registry that asks; what a registry itself says of it stays in its log. */
const HINTS: Record<NonNullable<Source['problem']>, string> = {
  unreachable:
    'Does it answer from where the registry runs, at that address and with a certificate that is trusted there?',
  'too-slow': 'A copy of the catalog that is nearer to the registry helps.',
  'too-large': 'docs/configuration.md has the limits; ask whoever publishes it for less.',
  'forbidden-address':
    'The operator of the registry allows private addresses with KRMHUB_SOURCE_ADDRESSES, and files with KRMHUB_SOURCE_FOLDER.',
  'too-many-redirects': 'Write the address where the catalog is in the end.',
  'not-found': 'Is the url in the recipe right, with its path and its branch or tag?',
  unauthorized: 'The operator of the registry gives credentials with KRMHUB_SOURCE_CREDENTIALS.',
  'bad-answer': 'The url has to be that of the catalog itself: the "raw" file of a forge and not its page.',
  'invalid-catalog': '`krmhub lint` says of a file what is wrong with it.',
  signature: 'Ask whoever publishes it. Where another key is right, name it in requireSignature.',
  rollback: 'Ask whoever publishes it: somebody may hand out old copies.',
  frozen: 'Ask whoever publishes it: somebody may hand out old copies, or nobody signs it any more.',
  equivocation: 'Ask whoever publishes it: somebody may hand out another catalog.',
  internal: 'The log of the registry says more.',
};

/** What to do about a source that failed, and what is used until then. */
export function hintFor({ problem, copy }: Source, now: Date): string {
  const meanwhile =
    copy === undefined
      ? 'Until then nothing of it is taken.'
      : `Until then the last good copy is used, fetched ${relativeTime(copy.fetchedAt, now)}.`;
  const hint = problem === undefined ? undefined : HINTS[problem];
  return hint === undefined ? meanwhile : `${hint} ${meanwhile}`;
}
