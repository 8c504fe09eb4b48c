import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { AccessRules } from './access-rules.js';
import { type AccessObject, type Actor, ANONYMOUS, can, tokenActor } from './can.js';
import { type Action, USER_TOKEN_SCOPES } from './scopes.js';
import { GROUPS, ISSUER, KINDS, randomRules, SSO_GROUPS } from './testing/random-access.js';

const ACTIONS: Action[] = ['read', 'publish', 'yank', 'push', 'own', 'audit', 'admin'];
const OBJECTS: AccessObject[] = [
  ...GROUPS.flatMap((group) => [
    { group },
    { group, isNew: true },
    ...KINDS.map((kind) => ({ group, kind })),
  ]),
  ...['default', 'in-house'].map((catalog) => ({ catalog })),
  ...['team/base', 'other', 'none'].map((repository) => ({ repository })),
  'registry',
];
const ROUNDS = 1_000;

interface Right {
  action: Action;
  object: AccessObject;
  because: string;
}

/** Returns what one may do, and none of the others. */
function more(rules: AccessRules, one: Actor, ...others: Actor[]): Right[] {
  const all = ACTIONS.flatMap((action) => OBJECTS.map((object) => ({ action, object })));
  return all.flatMap(({ action, object }) => {
    const decision = can(rules, one, action, object);
    const isShared = others.some((other) => can(rules, other, action, object).allowed);
    return decision.allowed && !isShared ? [{ action, object, because: decision.because }] : [];
  });
}

function session(rules: AccessRules, user: { subject: string; groups: readonly string[] }): Actor {
  const everything = { groups: ['*'], repositories: ['*', 'catalogs/*'] };
  const of = { issuer: ISSUER, ...user };
  return tokenActor(rules, { id: '1', name: 'Ada', scopes: USER_TOKEN_SCOPES, ...everything, user: of });
}

describe('whatever the rules are', () => {
  it('a user of several groups may what a user of one of them may, and no more', () => {
    const random = new Random(2);
    for (let round = 0; round < ROUNDS; round++) {
      const rules = randomRules(random);
      const all = session(rules, { subject: 'bob', groups: SSO_GROUPS });
      const single = SSO_GROUPS.map((group) => session(rules, { subject: 'bob', groups: [group] }));
      expect(more(rules, all, ...single)).toEqual([]);
      for (const one of single) expect(more(rules, one, all)).toEqual([]);
    }
  });

  it('a user without a team only reads what is internal, and publishes in open groups', () => {
    const random = new Random(3);
    for (let round = 0; round < ROUNDS; round++) {
      const rules = randomRules(random);
      const found = more(rules, session(rules, { subject: 'bob', groups: [] }), ANONYMOUS);
      for (const { action, object, because } of found) {
        const isOpen = ['publish', 'yank', 'push'].includes(action) && because.endsWith('is open');
        const isInternal = action === 'read' && because.endsWith('is internal');
        expect([action, object, because, isOpen || isInternal]).toEqual([action, object, because, true]);
      }
    }
  });
});
