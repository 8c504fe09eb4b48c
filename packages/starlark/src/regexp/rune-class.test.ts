import { expect, test } from 'vitest';
import { inRanges } from './rune-class.js';

test('finds a code point in ranges of any order that overlap', () => {
  const ranges = [90, 95, 10, 20, 15, 30, 12, 13, 31, 31, 90, 90, 0, 0, 50, 60, 55, 58];
  const isIn = inRanges(ranges);
  for (let rune = 0; rune < 100; rune++) {
    const expected = ranges.some(
      (start, index) => index % 2 === 0 && rune >= start && rune <= (ranges[index + 1] as number),
    );
    expect([rune, isIn(rune)]).toEqual([rune, expected]);
  }
  expect(inRanges([])(0)).toBe(false);
});
