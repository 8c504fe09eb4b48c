import type { FunctionName } from '@krmhub/schema';
import { functionPath } from '../addresses.js';

/** What a badge can show. */
export const BADGE_FACTS = ['release', 'signed', 'pinned'] as const;
export type BadgeFact = (typeof BADGE_FACTS)[number];

export function badgePath(name: FunctionName, show: BadgeFact): string {
  const path = functionPath(name).replace(/^\/functions/, '/badges');
  return `${path}.svg${show === 'release' ? '' : `?${new URLSearchParams({ show })}`}`;
}
