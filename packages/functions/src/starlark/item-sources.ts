/** The text of one item of a ResourceList. */
export interface ItemSource {
  /** Comments above its dash, with their line ends. */
  lead: string;
  /** From the start of the line of its dash, with its line end. */
  text: string;
}

export interface ItemSources {
  /** Spaces before each dash. */
  indent: number;
  items: ItemSource[];
}

const ITEMS = /^(?:items|"items"|'items')[ \t]*:[ \t]*(?:#[^\n]*)?\r?\n/m;

/**
 * Finds the text of each item of a ResourceList in block style: content of an item is indented more than its dash.
 * Returns undefined if the text is written otherwise; the caller compares the number with that of the parsed items.
 */
export function findItemSources(text: string): ItemSources | undefined {
  const start = ITEMS.exec(text);
  if (start === null) return undefined;
  const items: ItemSource[] = [];
  let indent: number | undefined;
  let open: string[] = [];
  /** Comments that may belong to the next item. */
  let comments: string[] = [];
  let lead = '';
  const close = () => {
    if (open.length > 0) items.push({ lead, text: endLine(open.join('')) });
    open = [];
  };
  for (const line of linesFrom(text, start.index + start[0].length)) {
    const content = line.trim();
    const column = line.length - line.trimStart().length;
    // They can be the end of a scalar.
    if (content === '' && comments.length === 0 && open.length > 0) {
      open.push(line);
      continue;
    }
    if (content === '' || (content.startsWith('#') && column <= (indent ?? column))) {
      comments.push(line);
      continue;
    }
    const isItem = /^-(?:\s|$)/.test(content) && column === (indent ?? column);
    if (isItem) {
      indent = column;
      close();
      lead = comments.join('');
      open = [line];
    } else if (indent === undefined || column <= indent) break;
    else open.push(...comments, line);
    comments = [];
  }
  close();
  return indent === undefined ? undefined : { indent, items };
}

function* linesFrom(text: string, start: number): Generator<string> {
  let at = start;
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const next = end === -1 ? text.length : end + 1;
    yield text.slice(at, next);
    at = next;
  }
}

function endLine(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
