/** Lines around a change that are printed with it. */
const CONTEXT = 3;
/** Lines that are removed or added between equal parts at both ends: the memory grows with their square. */
const MAX_CHANGES = 4_000;

type Line = [mark: ' ' | '-' | '+', text: string];

/**
 * Compares two texts line by line: the changed lines with some around them, as in a unified diff that `git apply`
 * accepts. Empty for equal texts.
 */
export function lineDiff(before: string, after: string): string[] {
  const lines = compare(splitLines(before), splitLines(after));
  const shown: string[] = [];
  let [oldLine, newLine] = [1, 1];
  for (let at = 0; at < lines.length; ) {
    const end = hunkEnd(lines, at);
    const hunk = lines.slice(at, Math.max(end, at + 1));
    const [oldCount, newCount] = [countLines(hunk, '-'), countLines(hunk, '+')];
    if (end > at) {
      shown.push(`@@ -${range(oldLine, oldCount)} +${range(newLine, newCount)} @@`);
      shown.push(...hunk.flatMap(([mark, text]) => diffLines(mark, text)));
    }
    oldLine += oldCount;
    newLine += newCount;
    at += hunk.length;
  }
  return shown;
}

/** Returns the end of the hunk that starts with a line; the line itself if none does. */
function hunkEnd(lines: readonly Line[], start: number): number {
  let end = start;
  // A hunk goes on while a change follows within the lines around the last one and the next one.
  for (let at = start, gap = 0; at < lines.length && gap <= (end === start ? CONTEXT : 2 * CONTEXT); at++) {
    gap = lines[at]![0] === ' ' ? gap + 1 : 0;
    if (gap === 0) end = at + 1;
  }
  return end === start ? start : Math.min(end + CONTEXT, lines.length);
}

/** Lines of the text before, for `-`, or after. */
function countLines(lines: readonly Line[], mark: '-' | '+'): number {
  return lines.filter(([one]) => one === ' ' || one === mark).length;
}

/** An empty range is behind the line before it. */
function range(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start}${count === 1 ? '' : `,${count}`}`;
}

function diffLines(mark: Line[0], text: string): string[] {
  if (text.endsWith('\n')) return [`${mark}${text.slice(0, -1)}`];
  return [`${mark}${text}`, '\\ No newline at end of file'];
}

/** With their line ends, so that a missing one is a difference. */
function splitLines(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line !== '');
}

function compare(old: readonly string[], now: readonly string[]): Line[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  ) {
    end++;
  }
  const same = (lines: readonly string[]): Line[] => lines.map((text) => [' ', text]);
  return [
    ...same(old.slice(0, start)),
    ...compareMiddle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(old.slice(old.length - end)),
  ];
}

/**
 * The fewest changes (Myers, "An O(ND) Difference Algorithm"), removed lines before added ones; where the texts have less
 * in common than MAX_CHANGES allows, all lines are replaced.
 */
function compareMiddle(old: readonly string[], now: readonly string[]): Line[] {
  const rounds = farthest(old, now);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of rounds === undefined ? [] : matches(rounds, old.length, now.length)) {
    lines.push(...replaced(old.slice(i, x), now.slice(j, y)), [' ', old[x]!]);
    [i, j] = [x + 1, y + 1];
  }
  return [...lines, ...replaced(old.slice(i), now.slice(j))];
}

function replaced(old: readonly string[], now: readonly string[]): Line[] {
  return [...old.map((text): Line => ['-', text]), ...now.map((text): Line => ['+', text])];
}

/**
 * Returns for each number of changes how far they reach on each diagonal, by the index of the diagonal plus the number
 * plus 1; undefined if more than MAX_CHANGES are needed.
 */
function farthest(old: readonly string[], now: readonly string[]): Int32Array[] | undefined {
  const rounds: Int32Array[] = [];
  for (let changes = 0; changes <= MAX_CHANGES; changes++) {
    const before = rounds.at(-1);
    const reached = new Int32Array(2 * changes + 3).fill(-1);
    rounds.push(reached);
    for (let diagonal = -changes; diagonal <= changes; diagonal += 2) {
      let x = before === undefined ? 0 : start(before, changes, diagonal);
      while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x++;
      reached[diagonal + changes + 1] = x;
      if (x >= old.length && x - diagonal >= now.length) return rounds;
    }
  }
  return undefined;
}

/** Where a diagonal is entered: after an added line from the diagonal above, or a removed one from that below. */
function start(before: Int32Array, changes: number, diagonal: number): number {
  const at = (other: number) => before[other + changes] ?? -1;
  return Math.max(at(diagonal + 1), diagonal > -changes ? at(diagonal - 1) + 1 : -1);
}

/** The pairs of equal lines, in order. */
function matches(rounds: readonly Int32Array[], oldLength: number, newLength: number): [number, number][] {
  const pairs: [number, number][] = [];
  let [x, y] = [oldLength, newLength];
  for (let changes = rounds.length - 1; changes >= 0; changes--) {
    const before = rounds[changes - 1];
    const entered = before === undefined ? 0 : start(before, changes, x - y);
    while (x > entered) pairs.push([--x, --y]);
    if (before === undefined) break;
    const isAdded = (before[x - y + 1 + changes] ?? -1) === entered;
    if (isAdded) y--;
    else x--;
  }
  return pairs.reverse();
}
