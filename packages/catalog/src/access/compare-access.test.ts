import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { NO_ACCESS } from './access-document.js';
import { AccessRules } from './access-rules.js';
import { type ActingToken, can } from './can.js';
import {
  actionsOn,
  COMPARISON_LIMITS,
  compareAccess,
  comparedActors,
  comparedObjects,
} from './compare-access.js';
import { accessObjectText, parseAccessObject } from './object-text.js';
import { GROUPS, randomRules, randomToken, randomUser } from './testing/random-access.js';

const NAMES = { groups: GROUPS.slice(0, 3), catalogs: ['default', 'in-house'], repositories: ['team/base'] };

describe('a comparison of Access documents', () => {
  it('reports what changes for an actor on an object, and nothing else', () => {
    const random = new Random(8);
    let reported = 0;
    for (let round = 0; round < 400; round += 1) {
      const before = randomRules(random);
      const after = randomRules(random, before);
      const tokens = Array.from({ length: 3 }, (_, at) => randomToken(random, at));
      const users = Array.from({ length: 2 }, (_, at) => randomUser(random, at));
      const { changes, count } = compareAccess(before, after, { tokens, users, names: NAMES });
      expect(changes).toHaveLength(count);
      const told = new Set<string>();
      for (const { change, actions, actors, actorCount, objects, objectCount } of changes) {
        expect(actors).toHaveLength(actorCount);
        expect(objects.length === objectCount || objects.length === COMPARISON_LIMITS.maxObjects).toBe(true);
        for (const actor of actors)
          for (const object of objects)
            for (const action of actions) told.add(JSON.stringify([actor, object, action, change]));
      }
      const isWhole = changes.every(({ objects, objectCount }) => objects.length === objectCount);
      const wanted = new Set<string>();
      for (const { actor, shown } of comparedActors([before, after], { tokens, users })) {
        for (const { object, text } of comparedObjects([before, after], tokens, NAMES)) {
          for (const action of actionsOn(object)) {
            const had = can(before, actor(before), action, object).allowed;
            const has = can(after, actor(after), action, object).allowed;
            if (had !== has) wanted.add(JSON.stringify([shown, text, action, has ? 'gains' : 'loses']));
          }
        }
      }
      if (isWhole) expect([...told].sort()).toEqual([...wanted].sort());
      else for (const one of told) expect(wanted).toContain(one);
      reported += told.size;
    }
    expect(reported).toBeGreaterThan(1_000);
  });

  it('reports nothing for the same document', () => {
    const random = new Random(9);
    for (let round = 0; round < 50; round += 1) {
      const rules = randomRules(random);
      const again = new AccessRules(structuredClone(rules.document), rules.claims);
      const [tokens, users] = [[randomToken(random, 0)], [randomUser(random, 0)]];
      expect(compareAccess(rules, again, { tokens, users, names: NAMES })).toEqual({ changes: [], count: 0 });
    }
  });

  it('names the owner because of which a token loses its right, and new names by their pattern', () => {
    const ci = {
      name: 'ci',
      id: '1',
      scopes: ['publish'],
      groups: ['*'],
      repositories: ['*'],
    };
    const before = new AccessRules({ ...NO_ACCESS, openGroups: ['*'] });
    const after = new AccessRules({
      ...NO_ACCESS,
      teams: [{ name: 'red', members: [] }],
      groups: [{ pattern: '*.example.com', owner: 'red', functions: [] }],
    });
    expect(compareAccess(before, after, { tokens: [ci], users: [], names: NAMES }).changes).toMatchSnapshot();
  });

  it('decides for teams that have nothing to do with a group once', () => {
    const count = 60;
    const decided = (shift: number) => {
      let calls = 0;
      class Counting extends AccessRules {
        override visibilityOf(group: string, kind?: string) {
          calls += 1;
          return super.visibilityOf(group, kind);
        }
      }
      const numbers = Array.from({ length: count }, (_, at) => at);
      const teams = numbers.map((at) => ({ name: `team-${at}`, members: [] }));
      const groups = numbers.map((at) => ({
        pattern: `group-${at}.example.com`,
        owner: `team-${(at + shift) % count}`,
        functions: [],
      }));
      return { rules: new Counting({ ...NO_ACCESS, teams, groups }), calls: () => calls };
    };
    const [before, after] = [decided(0), decided(1)];
    const compared = compareAccess(before.rules, after.rules, { tokens: [], users: [], names: NAMES });
    expect(compared.changes.map(({ change }) => change)).toContain('gains');
    for (const { calls } of [before, after]) expect(calls()).toBeLessThan(count * 50);
  });

  it('counts what it leaves out', () => {
    const groups = Array.from({ length: 500 }, (_, at) => `g${at}.example.com`);
    const token = (at: number): ActingToken => ({
      name: `t${at}`,
      scopes: ['publish'],
      groups: ['*'],
      repositories: [],
    });
    const { changes, count } = compareAccess(
      new AccessRules({ ...NO_ACCESS, openGroups: ['*'] }),
      new AccessRules({ ...NO_ACCESS, groups: [{ pattern: '*.example.com', owner: 'red', functions: [] }] }),
      {
        tokens: Array.from({ length: 30 }, (_, at) => token(at)),
        users: [],
        names: { groups, catalogs: [], repositories: [] },
      },
    );
    expect(count).toBe(2);
    expect(
      changes.map(({ actors, actorCount, objects, objectCount }) => [
        actors.length,
        actorCount,
        objects.length,
        objectCount,
      ]),
    ).toEqual([
      [20, 30, 20, 501],
      [20, 30, 1, 1],
    ]);
  });
});

describe('the text of an object', () => {
  it.each(['registry', 'example.com', 'example.com/SetLabels', 'catalog:default', 'repository:team/base'])(
    'is read as it is written: %s',
    (text) => {
      const object = parseAccessObject(text);
      expect(object && accessObjectText(object)).toBe(text);
    },
  );

  it.each(['', 'EXAMPLE.com', 'example.com/', 'example.com/a/b', 'function:x', 'catalog:'])(
    'is refused where it names nothing: %s',
    (text) => expect(parseAccessObject(text)).toBeUndefined(),
  );
});
