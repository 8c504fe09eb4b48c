/** Lines around a change that are printed with it. */
const CONTEXT = 3;
/** Lines of one changed part that are compared with each other: the table has their product. */
const MAX_COMPARED = 4_000_000;

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

/** The longest common subsequence; where the parts are too long for its table, all lines are replaced. */
function compareMiddle(old: readonly string[], now: readonly string[]): Line[] {
  if (old.length * now.length > MAX_COMPARED) {
    return [...old.map((text): Line => ['-', text]), ...now.map((text): Line => ['+', text])];
  }
  // common[i][j]: how many lines the rests from i and j have in common.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      common[i]![j] =
        old[i] === now[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push([' ', old[i]!]);
      i++;
      j++;
    } else if (j === now.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push(['-', old[i++]!]);
    } else lines.push(['+', now[j++]!]);
  }
  return lines;
}
