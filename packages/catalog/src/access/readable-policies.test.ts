import { matchesGlob } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { expect, it } from 'vitest';
import { NO_ACCESS, VISIBILITIES } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type Actor, ANONYMOUS, can, INSIDER } from './can.js';
import { readablePolicies } from './readable-policies.js';

const PATTERNS = ['*', '*.x', '*.y', '*.a.x', 'a.x', 'b.x', 'b.a.x', 'c.y'];
const GROUPS = PATTERNS.map((pattern) => pattern.replace('*', 'q'));

const policy = (name: string, ...groups: string[]) => ({ name, groups });

function rulesOf(...groups: [pattern: string, visibility: (typeof VISIBILITIES)[number]][]): AccessRules {
  const rules = groups.map(([pattern, visibility]) => ({ pattern, visibility, functions: [] }));
  return new AccessRules({ ...NO_ACCESS, groups: rules });
}

function shown(rules: AccessRules, actor: Actor, ...patterns: string[]): string[] {
  return readablePolicies(rules, actor, [policy('team', ...patterns)]).flatMap(({ groups }) => groups);
}

it('leaves out what names something hidden, and keeps wildcards that match more', () => {
  const some = rulesOf(['*.secret.x', 'private'], ['open.secret.x', 'public'], ['one.x', 'internal']);
  const patterns = ['*', '*.x', 'a.secret.x', '*.a.secret.x', '*.secret.x', 'one.x', 'two.x'];
  expect(shown(some, ANONYMOUS, ...patterns)).toEqual(['*', '*.x', '*.secret.x', 'two.x']);
  expect(shown(some, INSIDER, ...patterns)).toEqual(['*', '*.x', '*.secret.x', 'one.x', 'two.x']);
  const all = rulesOf(['*', 'private'], ['secret.x', 'private']);
  expect(readablePolicies(all, ANONYMOUS, [policy('any', '*'), policy('one', 'secret.x')])).toEqual([]);
  const reader = { ...INSIDER, scopes: ['read'], groups: ['secret.x/Kind'] };
  expect(shown(all, reader, '*', 'secret.x', '*.y')).toEqual(['*', 'secret.x']);
});

it('shows an actor the policies of what it may read, and no other (random rules)', () => {
  const random = new Random(42);
  const some = <Item>(items: readonly Item[], count: number): Item[] =>
    Array.from({ length: random.below(count + 1) }, () => random.pick(items));
  let hidden = 0;
  for (let round = 0; round < 2_000; round++) {
    const rules = new AccessRules(
      {
        ...NO_ACCESS,
        teams: [{ name: 'a', members: [] }],
        groups: [...new Set(some(PATTERNS, 4))].map((pattern) => ({
          pattern,
          visibility: random.pick(VISIBILITIES),
          ...(random.below(2) === 0 ? { owner: 'a' } : {}),
          functions: some(['K', 'L'], 1).map((kind) => ({ kind, visibility: random.pick(VISIBILITIES) })),
        })),
        grants: some(PATTERNS, 1).map((group) => ({ team: 'a', may: ['read'], in: { group } })),
      },
      some(GROUPS, 1).map((group) => ({ group, team: 'a', proof: 'dns' })),
    );
    const token = { name: 'one', scopes: ['read'], repositories: [], isInside: true };
    const actor: Actor = random.pick([
      ...[ANONYMOUS, INSIDER, { ...token, groups: ['*'], teams: ['a'] }],
      { ...token, groups: some([...PATTERNS, 'a.x/K', 'b.a.x/L'], 2) },
    ]);
    const reads = (group: string) =>
      [undefined, 'K', 'L'].some(
        (kind) => can(rules, actor, 'read', { group, ...(kind && { kind }) }).allowed,
      );
    for (const pattern of PATTERNS) {
      const matched = GROUPS.filter((group) => matchesGlob(pattern, group));
      const expected = matched.some(reads);
      expect([pattern, shown(rules, actor, pattern)]).toEqual([pattern, expected ? [pattern] : []]);
      if (!expected) hidden += 1;
    }
  }
  expect(hidden).toBeGreaterThan(1_000);
});
