import { newestTag, parseConstraint } from '@krmhub/schema/version-constraint';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { isHigher, planImageUpdate, updateSize } from './plan-image-update.js';

const TAGS = [
  'latest',
  'v0.4',
  'v0.4.1',
  'v0.4.10',
  'v0.5.0-rc.1',
  'unstable',
  'sha-1a2b3c4',
  'v1.0.0-git-12',
];

describe('planImageUpdate', () => {
  it.each([
    [{ tag: 'v0.4.1' }, { current: 'v0.4.1', wanted: 'v0.4.1', newest: 'v0.4.10' }],
    [{ tag: 'latest' }, { current: 'latest', wanted: 'latest', newest: 'v0.4.10' }],
    [{}, { newest: 'v0.4.10' }],
    [
      { constraint: '~0.4', lockedTag: 'v0.4.1' },
      { current: 'v0.4.1', wanted: 'v0.4.10', newest: 'v0.4.10' },
    ],
    [{ constraint: '>=3' }, { newest: 'v0.4.10' }],
    // Nothing stable is as new as what runs.
    [{ tag: 'v0.5.0-rc.1' }, { current: 'v0.5.0-rc.1', wanted: 'v0.5.0-rc.1', newest: 'v0.5.0-rc.1' }],
  ])('of %j is %j', (named, update) => {
    expect(planImageUpdate(named, TAGS)).toEqual(update);
  });

  it('without tags that are versions has no newest one', () => {
    expect(planImageUpdate({ tag: 'latest' }, ['latest', 'main'])).toEqual({
      current: 'latest',
      wanted: 'latest',
    });
    expect(planImageUpdate({ constraint: '*' }, [])).toEqual({});
  });

  it('never wants a tag outside of the constraint, and never calls a lower one the newest', () => {
    for (let seed = 0; seed < 500; seed++) {
      const random = new Random(seed);
      const version = () => [3, 4, 4].map((limit) => random.below(limit)).join('.');
      const tags = random.shuffled(
        Array.from({ length: random.below(12) }, () => `v${version()}${random.chance(0.2) ? '-rc.1' : ''}`),
      );
      const constraint = random.pick(['*', '~1', '^1.1', '>=1.2.0 <2', '0.x || 2.x', '~0.3.1-rc.0']);
      const lockedTag = random.pick([...tags, 'v1.1.1']);
      const { wanted, newest } = planImageUpdate({ constraint, lockedTag }, tags);
      expect(wanted).toBe(newestTag(tags, constraint));
      if (wanted !== undefined) expect(parseConstraint(constraint)!.matches(wanted)).toBe(true);
      const stable = tags.filter((tag) => !tag.includes('-'));
      for (const tag of stable) expect(isHigher(tag, newest), `seed ${seed}`).toBe(false);
      expect(newest === undefined || tags.includes(newest)).toBe(true);
    }
  });
});

describe('updateSize', () => {
  it.each([
    ['1.0.0', '1.0.0', undefined],
    ['1.0.0', '1.0.1', 'patch'],
    ['v1.0.9', 'v1.1.0', 'minor'],
    ['v0.4', 'v1.0.0', 'major'],
    ['1.0.0-rc.1', '1.0.0', 'major'],
    ['1.1.0', '1.2.0-rc.1', 'minor'],
    ['1.1.0', '1.0.0', 'other'],
    ['latest', 'v1', 'other'],
  ])('from %s to %s is %s', (before, after, size) => {
    expect(updateSize(before, after)).toBe(size);
  });
});
