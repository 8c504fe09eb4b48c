/** Matches a glob: `*` matches any characters, including dots. Takes linear time. */
export function matchesGlob(glob: string, text: string): boolean {
  const [first = '', ...rest] = glob.split('*');
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  const last = rest.pop()!;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/**
 * Returns globs that match names which two globs match: all of them, if each has one wildcard or includes the other.
 */
export function sharedGlobs(one: string, other: string): string[] {
  // A wildcard is a character that only a wildcard matches.
  if (matchesGlob(one, other)) return [other];
  if (matchesGlob(other, one)) return [one];
  const [a, b] = [one.split('*'), other.split('*')];
  if (a.length === 1 || b.length === 1) return [];
  const [start, begin] = longest(a[0]!, b[0]!);
  const [end, finish] = longest(a.at(-1)!, b.at(-1)!);
  if (!start.startsWith(begin) || !end.endsWith(finish)) return [];
  // Of `a.*` and `*.b`, also `a.b`, in which the dot is of both.
  const overlaps: string[] = [];
  for (let at = Math.max(0, start.length - end.length); at < start.length; at += 1) {
    const name = start.slice(0, at) + end;
    if (name.startsWith(start) && matchesGlob(one, name) && matchesGlob(other, name)) overlaps.push(name);
  }
  return [[start, ...a.slice(1, -1), ...b.slice(1, -1), end].join('*'), ...overlaps];
}

function longest(one: string, other: string): [string, string] {
  return one.length < other.length ? [other, one] : [one, other];
}
