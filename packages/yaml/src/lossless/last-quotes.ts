/** A line that starts with the last quote of a scalar, and not with a key. */
const LAST_QUOTE = /\n'(?=[ \t]*(?:#[^\n]*)?(?:\n|$)|[,\]}])(?![^'\n]*'[ \t]*:)/g;

/**
 * Indents the last quotes of scalars that go-yaml, and so kustomize and kpt, leaves at the start of a line, where YAML
 * does not allow them. The values are the same.
 */
export function indentLastQuotes(text: string): string {
  if (!text.includes("\n'")) return text;
  return text.replace(LAST_QUOTE, (found, at: number) => {
    let end = at;
    while (end > 0 && /\s/.test(text[end - 1]!)) end--;
    const line = text.slice(text.lastIndexOf('\n', end - 1) + 1, end);
    return `\n${' '.repeat(line.search(/[^\s\-?]/) + 2)}${found.slice(1)}`;
  });
}
