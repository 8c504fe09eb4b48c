/** The parts of a ResourceList in block style. */
export interface SplitList {
  /** Each from its dash to its last line end, with the dash at the start. */
  items: string[];
  /** What is before the items, and after them. */
  rest: string;
}

const ITEMS = /(?<![^\n])items:[ \t]*\n(?= *- )/;

/**
 * Finds the text of each item of a ResourceList. Returns undefined for one that is written otherwise than kyaml writes it,
 * which must be parsed as a whole.
 */
export function splitItems(text: string): SplitList | undefined {
  if (text.includes('\r') || text.startsWith('%') || /\n(?:---|\.\.\.|%)/.test(text)) return undefined;
  const start = ITEMS.exec(text);
  if (start === null) return undefined;
  const first = start.index + start[0].length;
  let indent = first;
  while (text[indent] === ' ') indent++;
  const column = indent - first;
  // The next field of the ResourceList; content of items is to the right of their dashes.
  const next = /\n(?=[^\s\-#])/g;
  next.lastIndex = first;
  const end =
    column === 0 || text[first] === ' ' ? (next.exec(text)?.index ?? text.length - 1) + 1 : text.length;
  const body = text.slice(first, end);
  if (!body.endsWith('\n')) return undefined;
  // Comments beside the items belong to what only a parser can tell.
  if (new RegExp(`^ {0,${column}}#`, 'm').test(body)) return undefined;
  const items = cut(body, `\n${' '.repeat(column)}- `).map((item) => dedent(item, column));
  return { items, rest: `${text.slice(0, start.index)}items: []\n${text.slice(end)}` };
}

function cut(body: string, separator: string): string[] {
  const items: string[] = [];
  let from = 0;
  for (;;) {
    const at = body.indexOf(separator, from);
    items.push(body.slice(from, at === -1 ? undefined : at + 1));
    if (at === -1) return items;
    from = at + 1;
  }
}

function dedent(item: string, column: number): string {
  return column === 0 ? item : item.replace(new RegExp(`^ {${column}}`, 'gm'), '');
}

/** Returns the document of an item. */
export function itemDocument(item: string): string {
  return item.replace('- ', '  ').replace(/^ {2}/gm, '');
}
