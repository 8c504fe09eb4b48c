import { describe, expect, it } from 'vitest';
import { countFolding, countInstructions, PatternSet } from './pattern-set.js';

describe('countFolding', () => {
  it('counts the wide ranges of classes whose case is folded', () => {
    expect(countFolding('(?i)[B-\\x{1e942}a-z]'.repeat(3))).toBe(18_000);
    expect(countFolding('(?si:[a-\u{10ffff}é-ü])')).toBe(12_000);
    expect(countFolding('[B-\\x{1e942}](?P<i>x)')).toBe(0);
    expect(countFolding('(?i)[a-z-]+é-ü')).toBe(0);
  });
});

describe('countInstructions', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['a{10}', 10],
    ['a{2,10}', 10],
    ['a{3,}', 3],
    ['(ab){10}', 40],
    ['((a{10}){10}){10}', 1_220],
    ['[a-z]{5}', 5],
    ['[]a-z(){}]{5}', 5],
    ['[[:alpha:]]{5}', 5],
    ['\\({5}', 5],
    ['\\pL{10}', 210],
    ['\\p{Greek}', 21],
    ['[\\pL\\pN]{2}', 82],
    ['((((', 0],
    ['a{999999999}', 1_000],
    ['{', 1],
    ['\\Q[a{9}\\E{3}', 7],
  ])('of %s are about %d', (pattern, count) => {
    expect(countInstructions(pattern)).toBe(count);
  });

  it('rejects an unclosed character class in linear time', () => {
    const begin = process.cpuUsage();
    for (const part of ['[', '[:a:]', '[[:a:]', '[^]', '\\p{', '(']) {
      for (const [start, end] of [
        ['', ''],
        ['\\Q', ''],
        ['', '\\'],
      ] as const) {
        countInstructions(start + part.repeat(100_000) + end);
      }
    }
    expect(process.cpuUsage(begin).user).toBeLessThan(10_000_000);
  });
});

describe('PatternSet', () => {
  it('stops matching when the step budget is used up, and reports it', () => {
    const patterns = new PatternSet();
    expect(patterns.test('^a{1000}$', 'b'.repeat(3_000))).toBe(false);
    expect(patterns.exhausted).toBe(false);
    expect(patterns.test('^a{1000}$', 'b'.repeat(3_000))).toBe(true);
    expect(patterns.exhausted).toBe(true);
  });

  it('does not compile patterns above the total cost limit', () => {
    const patterns = new PatternSet();
    expect(patterns.compile('\\pL'.repeat(300))).toHaveProperty('expression');
    const rest = Array.from({ length: 100 }, (_, index) => patterns.compile(`${'\\pL'.repeat(300)}${index}`));
    expect(rest[0]).toHaveProperty('expression');
    expect(rest.at(-1)).toEqual({ refused: 'cost' });
  });

  it('compiles hundreds of ordinary patterns', () => {
    const patterns = new PatternSet();
    const uuid = '^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$';
    for (let index = 0; index < 2_000; index++) {
      expect(patterns.compile(`${uuid}|${index}`)).toHaveProperty('expression');
      expect(patterns.test(`${uuid}|${index}`, '123e4567-e89b-12d3-a456-426614174000')).toBe(true);
    }
    expect(patterns.exhausted).toBe(false);
  });
});
