import { expect, it } from 'vitest';
import { differsInOne } from './suggest.js';

/** The distance with swaps of neighbors, from its definition (optimal string alignment). */
function alignment(a: string, b: string): number {
  const distances: number[][] = Array.from({ length: a.length + 1 }, (_, row) => [row]);
  for (let column = 0; column <= b.length; column++) distances[0]![column] = column;
  for (let row = 1; row <= a.length; row++) {
    for (let column = 1; column <= b.length; column++) {
      const at = (up: number, left: number) =>
        distances[row - up]?.[column - left] ?? Number.POSITIVE_INFINITY;
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      distances[row]![column] = Math.min(
        at(1, 0) + 1,
        at(0, 1) + 1,
        at(1, 1) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? at(2, 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
  }
  return distances[a.length]![b.length]!;
}

it('differsInOne is true for exactly the pairs of distance 1, among all short words of two and three letters', () => {
  const words = (letters: string, longest: number): string[] => {
    const all = [''];
    for (let from = 0, length = 1; length <= longest; length++) {
      const end = all.length;
      for (const word of all.slice(from, end)) all.push(...[...letters].map((letter) => word + letter));
      from = end;
    }
    return all;
  };
  for (const all of [words('ab', 6), words('abc', 4)]) {
    for (const a of all) {
      const wrong = all.filter((b) => differsInOne(a, b) !== (alignment(a, b) === 1));
      expect([a, wrong]).toEqual([a, []]);
    }
  }
});
