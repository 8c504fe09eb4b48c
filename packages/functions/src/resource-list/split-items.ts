/** The parts of a ResourceList in block style. */
export interface SplitList {
  /** Each from its dash, or the comments above it, to its last line end, with that at the start of the line. */
  items: string[];
  /** What is before the items, and after them. */
  rest: string;
  /** Whether the text ends with the items. */
  isLast: boolean;
}

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const HASH = 0x23;
const DASH = 0x2d;

const ITEMS = /(?<![^\n])items:[ \t]*\n(?= *[-#] )/;

/**
 * Finds the text of each item of a ResourceList. Returns undefined for one that is written otherwise than kyaml writes
 * it, which must be parsed as a whole.
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
  const starts = findStarts(body, column);
  if (starts === undefined) return undefined;
  const items = starts.map((at, index) => dedent(body.slice(at, starts[index + 1]), column));
  return {
    items,
    rest: `${text.slice(0, start.index)}items: []\n${text.slice(end)}`,
    isLast: end >= text.length,
  };
}

/** Finds where items start. Returns undefined if only a parser can tell to which item a comment belongs. */
function findStarts(body: string, column: number): number[] | undefined {
  const starts: number[] = [];
  let comment: number | undefined;
  let isBelowEmpty = false;
  for (let at = 0; at < body.length; ) {
    let content = at;
    while (content <= at + column && body.charCodeAt(content) === SPACE) content++;
    const code = body.charCodeAt(content);
    const indent = content - at;
    const end = body.indexOf('\n', content) + 1;
    const isDash = code === DASH && indent === column && body.charCodeAt(content + 1) === SPACE;
    if (code === HASH && indent <= column) {
      // The comment has to be right above the dash, and below the content that precedes it.
      if (indent !== column || isBelowEmpty) return undefined;
      comment ??= at;
    } else if (isDash) {
      starts.push(comment ?? at);
      comment = undefined;
    } else if (comment !== undefined) return undefined;
    isBelowEmpty = code === LINE_FEED;
    at = end;
  }
  return comment === undefined && starts[0] === 0 ? starts : undefined;
}

function dedent(item: string, column: number): string {
  return column === 0 ? item : item.replace(new RegExp(`^ {${column}}`, 'gm'), '');
}

/**
 * Returns the list of one item, to parse it. What follows the item decides to which node the comments at its end
 * belong: `isLast` if that is the end of the text.
 */
export function itemList(item: string, isLast: boolean): string {
  return `kind: ResourceList\nitems:\n${item}${isLast ? '' : '- {}\n'}`;
}
