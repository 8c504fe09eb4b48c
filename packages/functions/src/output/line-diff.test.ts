import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import { lineDiff } from './line-diff.js';

/** The number of lines that differ at least, by the table of longest common subsequences. */
function distance(old: readonly string[], now: readonly string[]): number {
  let row = now.map(() => 0).concat(0);
  for (const line of [...old].reverse()) {
    const next = [...row];
    for (let j = now.length - 1; j >= 0; j--) {
      next[j] = line === now[j] ? row[j + 1]! + 1 : Math.max(row[j]!, next[j + 1]!);
    }
    row = next;
  }
  return old.length + now.length - 2 * row[0]!;
}

/** Applies a diff with its positions. */
function apply(old: readonly string[], diff: readonly string[]): string[] {
  const lines = [...old];
  let [at, offset] = [0, 0];
  for (const line of diff) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+/.exec(line);
    if (hunk !== null) at = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1) + offset;
    else if (line.startsWith('+')) {
      lines.splice(at++, 0, line.slice(1));
      offset++;
    } else {
      expect(line.slice(1)).toBe(lines[at]);
      if (line.startsWith('-')) {
        lines.splice(at, 1);
        offset--;
      } else at++;
    }
  }
  return lines;
}

const join = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
const changed = (diff: readonly string[]) => diff.filter((line) => /^[+-]/.test(line)).length;

describe('a diff', () => {
  it('gives the new text, with the fewest changed lines, and removed lines before added ones', () => {
    const random = new Random(5);
    for (let round = 0; round < 400; round++) {
      const letters = 'abcdefgh'.slice(0, 1 + random.below(8));
      const text = () => Array.from({ length: random.below(30) }, () => random.pick([...letters]));
      const [old, now] = [text(), text()];
      const diff = lineDiff(join(old), join(now));
      expect(apply(old, diff)).toEqual(now);
      expect(changed(diff)).toBe(distance(old, now));
      expect(diff.join('\n')).not.toMatch(/^\+.*\n-/m);
    }
  });

  it('is small for changes at both ends of a long text', () => {
    const lines = Array.from({ length: 50_000 }, (_, at) => `line ${at % 500}`);
    const now = ['first', ...lines.slice(1, -1), 'last'];
    expect(changed(lineDiff(join(lines), join(now)))).toBe(4);
  });

  it('replaces texts that have little in common', () => {
    const [old, now] = ['a', 'b'].map((name) => Array.from({ length: 3_000 }, (_, at) => `${name} ${at}`));
    expect(changed(lineDiff(join([...old!, 'x']), join([...now!, 'x', 'y'])))).toBe(6_003);
  });
});
