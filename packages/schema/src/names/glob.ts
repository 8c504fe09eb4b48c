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
