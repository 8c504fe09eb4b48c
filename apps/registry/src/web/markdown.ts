import { README_IMAGE_LIMITS, readmeImagePath } from '@krmhub/oci/readme-images';
import { parseUrl } from '@krmhub/schema/parse-url';
import MarkdownIt, { type Token } from 'markdown-it';
import { breakablePieces } from './break-places.js';
import { highlightCode } from './highlight.js';
import { splitSections } from './markdown-sections.js';
import { cutText, visibleText } from './visible-text.js';

/** Limits of the Markdown on a page. */
export const MARKDOWN_LIMITS = {
  /** UTF-16 code units of the input. */
  maxTextLength: 262_144,
  /**
   * UTF-16 code units that are rendered at once. The worst known text of this length takes about 100 ms; a typical one
   * of 20 KB takes 3 ms.
   */
  maxSectionLength: 32_768,
  /** UTF-16 code units of the output of a section: tables of empty cells grow most. A longer one is shown as source. */
  maxSectionPageLength: 400_000,
  /** UTF-16 code units of the output; the sections after it are left out. */
  maxPageLength: 1_600_000,
  /** Nested quotes, lists and emphasis; deeper ones remain text. */
  maxNesting: 32,
  /** Headings that are returned. */
  maxHeadings: 100,
  /** UTF-16 code units of an address or a heading's ID. */
  maxAddressLength: 2_000,
} as const;

export interface RenderedMarkdown {
  /** Safe HTML. */
  html: string;
  /** The text is longer than its shown part. */
  isCut: boolean;
  /** Paths of its images that are files beside it, whether shown or not. */
  images: string[];
  headings: MarkdownHeading[];
}

export interface MarkdownHeading {
  /** Of its element. */
  id: string;
  title: string;
  /** In the source, from 1. */
  level: number;
}

/** Sources of images by their path, on the page's own site. */
export type ImageSources = ReadonlyMap<string, string>;

/** How a document stands on its page. */
export interface MarkdownPlace {
  /** Levels that its headings are below those of the source. */
  headingShift: number;
  /** Before the IDs of its headings, which must differ from those of the page. */
  idPrefix: string;
  /** Tables of many columns become lists on a narrow screen, where each cell has the title of its column. */
  hasLists?: boolean;
  /** Returns the target of a link to another document; undefined shows its address as text. */
  link?(address: string): string | undefined;
}

/** Headings start below the page's own `h2`, and a relative address would lead to an unrelated page. */
const README: MarkdownPlace = { headingShift: 2, idPrefix: 'readme-' };
const REL = 'nofollow noopener noreferrer';

const markdown = new MarkdownIt({
  // HTML remains text. Quotes, dashes and bare addresses are not converted.
  html: false,
  linkify: false,
  typographer: false,
  // A setting of presets that the types lack.
  ...({ maxNesting: MARKDOWN_LIMITS.maxNesting } as object),
});
// The renderer decides which addresses become links; others are shown as text.
markdown.validateLink = () => true;
markdown.renderer.rules.image = (tokens, index, _options, env) => writeImage(tokens[index]!, env as State);
markdown.renderer.rules.table_open = (tokens, index) =>
  `<div class="wide" tabindex="0"><table${tokens[index]!.meta === null ? '' : ' class="stacked"'}>\n`;
markdown.renderer.rules.table_close = () => '</table></div>\n';
markdown.renderer.rules.link_open = (tokens, index, _options, env) => openLink(tokens[index]!, env as State);
markdown.renderer.rules.link_close = (_tokens, _index, _options, env) => closeLink(env as State);
markdown.renderer.rules.fence = (tokens, index) => writeFence(tokens[index]!);
markdown.renderer.rules.code_block = (tokens, index) => writeCode(escaped(tokens[index]!.content));
markdown.renderer.rules.code_inline = (tokens, index) => `<code>${writeWords(tokens[index]!.content)}</code>`;
markdown.renderer.rules.heading_close = (tokens, index) =>
  `${writeAnchor(tokens[index]!)}</${tokens[index]!.tag}>\n`;
markdown.renderer.rules.task = (tokens, index) => writeTask(tokens[index]!);
markdown.core.ruler.push('headings', ({ tokens, env }) => prepareHeadings(tokens, env as State));
markdown.core.ruler.push('tasks', ({ tokens }) => prepareTasks(tokens));
markdown.core.ruler.push('lists', ({ tokens, env }) => labelCells(tokens, env as State));
markdown.core.ruler.push('cells', ({ tokens }) => prepareCells(tokens));

interface State {
  /** Closing tags of the open links. */
  closing: string[];
  /** Headings so far, by the ID that they want. */
  taken: Map<string, number>;
  /** Link definitions of all sections, filled in by the parser. */
  references: object;
  sources: ImageSources;
  /** Paths of images that are files beside the document. */
  images: Set<string>;
  headings: MarkdownHeading[];
  place: MarkdownPlace;
}

/**
 * Renders CommonMark with tables and task lists as HTML that runs nothing, and loads only the images in `sources`. Other images become
 * links. Links lead to http, https, mailto or a heading of the same document; other addresses are shown as text.
 */
export function renderMarkdown(
  text: string,
  sources: ImageSources = new Map(),
  place: MarkdownPlace = README,
): RenderedMarkdown {
  const { maxTextLength, maxSectionLength, maxSectionPageLength, maxPageLength } = MARKDOWN_LIMITS;
  const isCut = text.length > maxTextLength;
  const shown = isCut ? upToLineEnd(text.slice(0, maxTextLength)) : text;
  const sections = splitSections(shown, maxSectionLength);
  const state: State = {
    closing: [],
    taken: new Map(),
    references: sections.length === 1 ? {} : linkDefinitions(sections),
    sources,
    images: new Set(),
    headings: [],
    place,
  };
  let html = '';
  for (const [index, section] of sections.entries()) {
    const rendered = markdown.render(section, { ...state, closing: [] } satisfies State);
    // Entities can encode hidden characters too, so this checks the output and not the source.
    const safe = visibleText(
      rendered.length <= maxSectionPageLength ? rendered : writeCode(escaped(section)),
    );
    if (index > 0 && html.length + safe.length > maxPageLength) {
      return { html, isCut: true, images: [...state.images], headings: state.headings };
    }
    html += safe;
  }
  return { html, isCut, images: [...state.images], headings: state.headings };
}

/** A link may use a definition of a later section. */
function linkDefinitions(sections: readonly string[]): object {
  const references = {};
  const state = {
    closing: [],
    references,
    sources: new Map<string, string>(),
    images: new Set<string>(),
    headings: [],
    place: README,
  };
  for (const section of sections) {
    const lines = section.split('\n').filter((line) => /^ {0,3}\[[^\]]+\]:/.test(line));
    markdown.parse(lines.join('\n\n'), { ...state, taken: new Map() } satisfies State);
  }
  return references;
}

/** Removes the incomplete last line; returns a text of one line unchanged. */
function upToLineEnd(text: string): string {
  const end = text.lastIndexOf('\n');
  return end > 0 ? text.slice(0, end) : text.replace(/[\ud800-\udbff]$/, '');
}

function prepareHeadings(tokens: Token[], { taken, headings, place }: State): void {
  const { headingShift, idPrefix } = place;
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open' && token.type !== 'heading_close') continue;
    const level = Number(token.tag.slice(1));
    token.tag = `h${Math.min(level + headingShift, 6)}`;
    if (token.type === 'heading_close') continue;
    const slug = headingId(tokens[index + 1]?.content ?? '');
    const count = taken.get(slug) ?? 0;
    taken.set(slug, count + 1);
    const id = idPrefix + (count === 0 ? slug : `${slug}-${count}`);
    token.attrSet('id', id);
    const heading = { id, title: plainText(tokens[index + 1]?.children ?? []), level };
    tokens[index + 2]!.meta = heading;
    if (headings.length < MARKDOWN_LIMITS.maxHeadings) headings.push(heading);
  }
}

/** Writes the link to a heading. The title of the page has none. */
function writeAnchor({ tag, meta }: Token): string {
  if (tag === 'h1') return '';
  const { id, title } = meta as MarkdownHeading;
  const label = escaped(`Link to ${cutText(title, 100)}`);
  return `<a class="anchor" href="#${encodeURIComponent(id)}" aria-label="${label}"></a>`;
}

const TASK = /^\[([ xX])\] /;

/** An item of a list that starts with `[ ]` or `[x]` is a task. */
function prepareTasks(tokens: Token[]): void {
  for (const [index, token] of tokens.entries()) {
    const text = tokens[index + 2]?.children?.[0];
    if (token.type !== 'list_item_open' || text?.type !== 'text') continue;
    const mark = TASK.exec(text.content);
    if (mark === null) continue;
    token.attrSet('class', 'task');
    text.content = text.content.slice(mark[0].length);
    tokens[index + 2]!.children!.unshift(
      Object.assign(new (text.constructor as typeof Token)('task', '', 0), { info: mark[1]!.trim() }),
    );
  }
}

function writeTask({ info }: Token): string {
  return info === ''
    ? '<span role="img" aria-label="to do">☐</span> '
    : '<span role="img" aria-label="done">☑</span> ';
}

/** Returns the ID of a heading as GitHub does, so that links inside a document work. */
export function headingId(text: string): string {
  return text
    .slice(0, MARKDOWN_LIMITS.maxAddressLength)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/** Columns of a table that a phone cannot show side by side. */
const MANY_COLUMNS = 4;

/** Marks tables of many columns, and writes the title of its column into each cell that has one, and text. */
function labelCells(tokens: Token[], { place }: State): void {
  if (place.hasLists !== true) return;
  let [table, titles, column]: [Token | undefined, string[], number] = [undefined, [], 0];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') [table, titles] = [token, []];
    if (token.type === 'tr_open') column = 0;
    if (token.type === 'th_open') titles.push(plainText(tokens[index + 1]?.children ?? []));
    if (token.type !== 'td_open') continue;
    const title = titles[column++];
    if (titles.length < MANY_COLUMNS) continue;
    table!.meta = 'stacked';
    if (title !== undefined && title !== '' && tokens[index + 1]?.content !== '')
      token.attrSet('data-title', title);
  }
}

/** Cells are aligned by class: the page policy forbids styles. */
function prepareCells(tokens: Token[]): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'th_open' && token.type !== 'td_open') continue;
    // A header without text heads nothing.
    if (tokens[index + 1]?.content === '') for (const one of [token, tokens[index + 2]!]) one.tag = 'td';
    const side = /right|center/.exec(String(token.attrGet('style') ?? ''))?.[0];
    const title = token.attrGet('data-title');
    token.attrs = [
      ...(side === undefined ? [] : [['class', `cell-${side}`] satisfies [string, string]]),
      ...(title === null ? [] : [['data-title', title] satisfies [string, string]]),
    ];
  }
}

/** Returns the target of a link on a page: on the web, a heading, or none. */
function linkTarget(address: string, place: MarkdownPlace): { href: string; isWeb: boolean } | undefined {
  if (address.length > MARKDOWN_LIMITS.maxAddressLength) return undefined;
  const own = place.link?.(address);
  if (own !== undefined) return { href: own, isWeb: false };
  if (/^#./.test(address)) {
    const slug = headingId(decoded(address.slice(1)));
    return slug === '' ? undefined : { href: `#${encodeURIComponent(place.idPrefix + slug)}`, isWeb: false };
  }
  const match = /^(https?:\/\/|mailto:)[^\s\\]+$/i.exec(address);
  const url = match === null ? undefined : parseUrl(address);
  if (match === null || url === undefined) return undefined;
  return { href: url.href, isWeb: match[1]!.toLowerCase() !== 'mailto:' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function openLink(token: Token, state: State): string {
  const address = String(token.attrGet('href') ?? '');
  const target = linkTarget(address, state.place);
  if (target === undefined) {
    state.closing.push(address === '' ? '' : ` ${writeAddress(address)}`);
    return '';
  }
  state.closing.push('</a>');
  return openAnchor(target);
}

function closeLink(state: State): string {
  return state.closing.pop() ?? '';
}

/**
 * Writes an image that has a source, else a link to it, with its description; the page loads no image from other sites.
 */
function writeImage(token: Token, state: State): string {
  const address = String(token.attrGet('src') ?? '');
  const alternative = escaped(cutText(plainText(token.children ?? []), MARKDOWN_LIMITS.maxAddressLength));
  const path = readmeImagePath(address);
  if (path !== undefined && state.images.size < README_IMAGE_LIMITS.maxImages) state.images.add(path);
  const source = path === undefined ? undefined : state.sources.get(path);
  if (source !== undefined) return `<img src="${escaped(source)}" alt="${alternative}" loading="lazy">`;
  const name = alternative === '' ? 'image' : alternative;
  // Links cannot be nested.
  if (state.closing.includes('</a>')) return name;
  const target = linkTarget(address, state.place);
  if (target === undefined) return `${name} ${writeAddress(address)}`;
  return `${openAnchor(target)}${name}</a>`;
}

function openAnchor({ href, isWeb }: { href: string; isWeb: boolean }): string {
  return `<a href="${escaped(href)}"${isWeb ? ' class="external"' : ''} rel="${REL}">`;
}

/** Writes an address as text. */
function writeAddress(address: string): string {
  return `<code>${escaped(cutText(decoded(address), 200))}</code>`;
}

/** Writes code to copy, with the colors of its language; `text` is what a command prints. */
function writeFence({ content, info }: Token): string {
  const [language = ''] = info.trim().split(/\s/, 1);
  if (language === 'text') return writeCode(escaped(content));
  return `<figure class="snippet" data-copy="Code">${writeCode(highlightCode(content, language))}</figure>\n`;
}

/** The code is HTML. */
function writeCode(code: string): string {
  return `<pre tabindex="0"><code>${code}</code></pre>\n`;
}

/** Characters of a word in code that fit in any column of a table. */
const MAX_CELL_WORD = 13;
/** Characters of a word in code that goes to the next line as a whole. */
const MAX_WHOLE_WORD = 28;

/**
 * Writes inline code. A browser breaks a line after each hyphen, so that `--dry-run` would become two words; and where
 * a column is narrow, anywhere in a word.
 */
function writeWords(code: string): string {
  return code
    .split(' ')
    .map((word) => {
      const text = breakablePieces(word, MAX_CELL_WORD).map(escaped).join('<wbr>');
      const isWhole = word.length <= MAX_WHOLE_WORD && (word.includes('-') || word.length > MAX_CELL_WORD);
      return isWhole ? `<span class="word">${text}</span>` : text;
    })
    .join(' ');
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map(({ type, content, children }) =>
      type === 'softbreak' || type === 'hardbreak' ? ' ' : children === null ? content : plainText(children),
    )
    .join('');
}

function escaped(text: string): string {
  return markdown.utils.escapeHtml(text);
}
