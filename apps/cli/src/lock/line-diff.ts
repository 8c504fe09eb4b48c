/** Lines around a change that are printed with it. */
const CONTEXT = 3;
/** Lines of one changed part that are compared with each other: the table has their product. */
const MAX_COMPARED = 4_000_000;

type Line = [mark: ' ' | '-' | '+', text: string];

/**
 * Compares two texts line by line: the changed lines with some around them, as unified diffs have them. Empty for equal
 * texts.
 */
export function lineDiff(before: string, after: string): string[] {
  const [old, now] = [splitLines(before), splitLines(after)];
  const lines = compare(old, now);
  const isShown = (at: number) =>
    lines.slice(Math.max(at - CONTEXT, 0), at + CONTEXT + 1).some(([mark]) => mark !== ' ');
  const shown: string[] = [];
  let [oldLine, newLine] = [1, 1];
  let inHunk = false;
  for (const [at, [mark, text]] of lines.entries()) {
    if (isShown(at)) {
      if (!inHunk) shown.push(`@@ -${oldLine} +${newLine} @@`);
      shown.push(`${mark}${text}`);
    }
    inHunk = isShown(at);
    if (mark !== '+') oldLine++;
    if (mark !== '-') newLine++;
  }
  return shown;
}

function splitLines(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
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
