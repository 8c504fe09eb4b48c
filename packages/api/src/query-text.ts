/** Parameters of a URL. A list is a parameter for each item. */
export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

/** Returns the query of a URL with its `?`; an empty text without parameters. */
export function queryText(query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const item of typeof value === 'object' ? value : [value]) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
