import type { Change, CompatibilityRule } from './rules.js';

/** What a release may do that the one before it may not. */
const PERMISSIONS: ReadonlySet<CompatibilityRule> = new Set(['network-required', 'storage-required']);

/** Summarizes changes in a few words, for example `2 breaking, 1 new permission`. */
export function summarizeChanges(changes: readonly Change[]): string {
  const count = (isCounted: (change: Change) => boolean) => changes.filter(isCounted).length;
  const breaking = count(({ effect }) => effect === 'breaking');
  const permissions = count(({ rule }) => PERMISSIONS.has(rule));
  const review = count(({ effect, rule }) => effect === 'review' && !PERMISSIONS.has(rule));
  const parts = [
    ...(breaking === 0 ? [] : [`${breaking} breaking`]),
    ...(permissions === 0 ? [] : [`${permissions} new permission${permissions === 1 ? '' : 's'}`]),
    ...(review === 0 ? [] : [`${review} to review`]),
  ];
  if (parts.length > 0) return parts.join(', ');
  return changes.length === 0 ? 'no changes' : 'compatible';
}
