import { matchesGlob } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { AccessRules } from './access-rules.js';
import { type Actor, can } from './can.js';

/**
 * Returns the policies with the patterns of groups that an actor may know. A policy without such a pattern is left out.
 *
 * A pattern is read like a group with this name: `*` and `*.example.com` name nothing that is hidden, unless a rule
 * hides everything that they match. A pattern that matches a group or a function that the actor may read is known to it,
 * because the verdict on a release there names the policy.
 */
export function readablePolicies<Policy extends { groups: readonly string[] }>(
  rules: AccessRules,
  actor: Actor,
  policies: readonly Policy[],
): Policy[] {
  const reads = (name: string): boolean => {
    const [group = '', kind] = name.split('/');
    return can(rules, actor, 'read', { group, ...defined({ kind }) }).allowed;
  };
  const { groups, grants } = rules.document;
  const known = [
    ...groups.map(({ pattern }) => pattern),
    ...grants.flatMap(({ in: target }) => ('group' in target ? target.group : [])),
    ...rules.claims.map(({ group }) => group),
    ...actor.groups,
  ].filter(reads);
  const isKnown = (pattern: string): boolean =>
    reads(pattern) || known.some((name) => matchesGlob(pattern, name.split('/')[0]!));
  return policies.flatMap((policy) => {
    const readable = policy.groups.filter(isKnown);
    return readable.length === 0 ? [] : [{ ...policy, groups: readable }];
  });
}
