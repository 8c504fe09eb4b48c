/**
 * Returns SQL of SQLite with the placeholders of PostgreSQL: `?` by order, and `:name`, whose names are appended to
 * `names` in the order of their numbers. Texts in quotes and casts stay.
 */
export function numbered(source: string, names: string[] = []): string {
  let count = 0;
  return source.replace(/'(?:[^']|'')*'|"[^"]*"|::\w+|\?|:([a-zA-Z]\w*)/g, (found, name?: string) => {
    if (found === '?') return `$${++count}`;
    if (name === undefined) return found;
    let at = names.indexOf(name);
    if (at === -1) at = names.push(name) - 1;
    return `$${at + 1}`;
  });
}
