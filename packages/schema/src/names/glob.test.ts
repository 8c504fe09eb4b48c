import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { matchesGlob, sharedGlobs } from './glob.js';

describe('matchesGlob', () => {
  it.each([
    ['*', 'example.com', true],
    ['example.com', 'example.com', true],
    ['example.com', 'sub.example.com', false],
    ['*.example.com', 'sub.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'evilexample.com', false],
    ['example.*', 'example.com', true],
    ['a*b*c', 'a.b.c', true],
    ['a*b*c', 'a.c', false],
    ['ab*ba', 'aba', false],
    ['a*a*a', 'aa', false],
    ['**', 'x.y', true],
    ['', 'x.y', false],
    ['example.com', 'exampleXcom', false],
  ])('%j and %j: %s', (glob, group, matches) => {
    expect(matchesGlob(glob, group)).toBe(matches);
  });

  it('takes linear time', () => {
    const started = process.cpuUsage();
    expect(matchesGlob('*a'.repeat(20_000), `${'a'.repeat(19_999)}b`)).toBe(false);
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });
});

describe('sharedGlobs', () => {
  it.each([
    ['*', 'a.example.com', ['a.example.com']],
    ['*.example.com', 'a.*', ['a.*.example.com', 'a.example.com']],
    ['*.example.com', '*.example.net', []],
    ['a.example.com', 'b.example.com', []],
  ])('of %j and %j: %j', (one, other, expected) => {
    expect([sharedGlobs(one, other), sharedGlobs(other, one)]).toEqual([expected, expected]);
  });

  it('take little time, however long a glob is', () => {
    const long = `${'x'.repeat(20_000)}*`;
    const started = process.cpuUsage();
    for (let count = 0; count < 20; count += 1) expect(sharedGlobs(`*.t${count}.com`, long)).toHaveLength(1);
    expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
  });

  it('match what both match', () => {
    const random = new Random(3);
    const text = (characters: string, most: number) =>
      Array.from({ length: random.below(most + 1) }, () => random.pick([...characters])).join('');
    let both = 0;
    for (let round = 0; round < 3_000; round += 1) {
      const [one, other] = [text('ab*', 5), text('ab*', 5)];
      const shared = sharedGlobs(one, other);
      for (let count = 0; count < 10; count += 1) {
        const name = text('ab', 7);
        const isOfBoth = matchesGlob(one, name) && matchesGlob(other, name);
        const about = JSON.stringify([one, other, name, shared]);
        if (isOfBoth) both += 1;
        if (shared.some((glob) => matchesGlob(glob, name))) expect(isOfBoth, about).toBe(true);
        else if (one.split('*').length < 3 && other.split('*').length < 3)
          expect(isOfBoth, about).toBe(false);
      }
    }
    expect(both).toBeGreaterThan(1_000);
  });
});
