import MarkdownIt, { type Token } from 'markdown-it';
import { cutText, visibleText } from './visible-text.js';

/** Limits on Markdown that a page shows: each with its unit, and why. */
export const MARKDOWN_LIMITS = {
  /** UTF-16 code units that are read. The worst known text of this length takes some 100 ms; real ones of 20 KB take 3 ms. */
  maxTextLength: 32_768,
  /** UTF-16 code units of what comes out of it: tables of empty cells grow most. A longer one is shown as it was written. */
  maxPageLength: 400_000,
  /** Quotes, lists and emphasis inside each other; what is deeper stays text. */
  maxNesting: 32,
  /** UTF-16 code units of an address or a heading's name. */
  maxAddressLength: 2_000,
} as const;

export interface RenderedMarkdown {
  /** Safe to be put into a page as it is. */
  html: string;
  /** Whether the text is longer than what is shown. */
  isCut: boolean;
}

/** Headings of a document begin below the page's own `h2`. */
const HEADING_SHIFT = 2;
const ID_PREFIX = 'readme-';
const REL = 'nofollow noopener noreferrer';

const markdown = new MarkdownIt({
  // HTML is text, and so are quotes, dashes and bare addresses: nothing is read into what somebody wrote.
  html: false,
  linkify: false,
  typographer: false,
  // A setting of presets, which the types do not name.
  ...({ maxNesting: MARKDOWN_LIMITS.maxNesting } as object),
});
// Whether an address becomes a link is decided when it is written: what does not still shows where it leads.
markdown.validateLink = () => true;
markdown.renderer.rules.image = (tokens, index, _options, env) => writeImage(tokens[index]!, env as State);
markdown.renderer.rules.table_open = () => '<div class="wide" tabindex="0"><table>\n';
markdown.renderer.rules.table_close = () => '</table></div>\n';
markdown.renderer.rules.link_open = (tokens, index, _options, env) => openLink(tokens[index]!, env as State);
markdown.renderer.rules.link_close = (_tokens, _index, _options, env) => closeLink(env as State);
markdown.renderer.rules.fence = (tokens, index) => writeCode(tokens[index]!.content);
markdown.renderer.rules.code_block = (tokens, index) => writeCode(tokens[index]!.content);
markdown.core.ruler.push('headings', ({ tokens }) => prepareHeadings(tokens));
markdown.core.ruler.push('cells', ({ tokens }) => prepareCells(tokens));

/** What closes the links that are open. */
interface State {
  closing: string[];
}

/**
 * CommonMark with tables as HTML that loads nothing and runs nothing: images are links, links lead to http, https,
 * mailto or a heading of the same document, and other addresses are shown and lead nowhere.
 */
export function renderMarkdown(text: string): RenderedMarkdown {
  const { maxTextLength, maxPageLength } = MARKDOWN_LIMITS;
  const isCut = text.length > maxTextLength;
  const shown = isCut ? upToLineEnd(text.slice(0, maxTextLength)) : text;
  const html = markdown.render(shown, { closing: [] } satisfies State);
  // Entities can stand for hidden characters too, so what they gave is looked at, and not the source.
  if (html.length <= maxPageLength) return { html: visibleText(html), isCut };
  return { html: visibleText(writeCode(shown)), isCut };
}

/** Without the last line, which is broken off somewhere; a text of one line as it is. */
function upToLineEnd(text: string): string {
  const end = text.lastIndexOf('\n');
  return end > 0 ? text.slice(0, end) : text.replace(/[\ud800-\udbff]$/, '');
}

function prepareHeadings(tokens: Token[]): void {
  const taken = new Map<string, number>();
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open' && token.type !== 'heading_close') continue;
    token.tag = `h${Math.min(Number(token.tag.slice(1)) + HEADING_SHIFT, 6)}`;
    if (token.type === 'heading_close') continue;
    const slug = slugOf(tokens[index + 1]?.content ?? '');
    const count = taken.get(slug) ?? 0;
    taken.set(slug, count + 1);
    token.attrSet('id', ID_PREFIX + (count === 0 ? slug : `${slug}-${count}`));
  }
}

/** As GitHub names headings, so that the links inside of a document find them. */
function slugOf(text: string): string {
  return text
    .slice(0, MARKDOWN_LIMITS.maxAddressLength)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

/** How a cell is aligned is a class: no style may stand in a page. */
function prepareCells(tokens: Token[]): void {
  for (const token of tokens) {
    if (token.type !== 'th_open' && token.type !== 'td_open') continue;
    const side = /right|center/.exec(String(token.attrGet('style') ?? ''))?.[0];
    token.attrs = side === undefined ? null : [['class', `cell-${side}`]];
  }
}

/** Where an address leads to from a page of ours: elsewhere on the web, to a heading, or nowhere. */
function targetOf(address: string): { href: string; isWeb: boolean } | undefined {
  if (address.length > MARKDOWN_LIMITS.maxAddressLength) return undefined;
  if (/^#./.test(address)) {
    const slug = slugOf(decoded(address.slice(1)));
    return slug === '' ? undefined : { href: `#${encodeURIComponent(ID_PREFIX + slug)}`, isWeb: false };
  }
  // A relative address would lead to a page of this registry that has nothing to do with it.
  const match = /^(https?:\/\/|mailto:)[^\s\\]+$/i.exec(address);
  if (match === null || !URL.canParse(address)) return undefined;
  return { href: new URL(address).href, isWeb: match[1]!.toLowerCase() !== 'mailto:' };
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
  const target = targetOf(address);
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

/** A link to the image, named by what it shows; nothing is loaded from elsewhere. */
function writeImage(token: Token, state: State): string {
  const address = String(token.attrGet('src') ?? '');
  const alternative = escaped(cutText(plainText(token.children ?? []), MARKDOWN_LIMITS.maxAddressLength));
  const name = alternative === '' ? 'image' : alternative;
  // In a link there is no place for another one.
  if (state.closing.includes('</a>')) return name;
  const target = targetOf(address);
  if (target === undefined) return `${name} ${writeAddress(address)}`;
  return `${openAnchor(target)}${name}</a>`;
}

function openAnchor({ href, isWeb }: { href: string; isWeb: boolean }): string {
  return `<a href="${escaped(href)}"${isWeb ? ' class="external"' : ''} rel="${REL}">`;
}

/** An address that leads nowhere from here, to be read. */
function writeAddress(address: string): string {
  return `<code>${escaped(cutText(decoded(address), 200))}</code>`;
}

function writeCode(code: string): string {
  return `<pre tabindex="0"><code>${escaped(code)}</code></pre>\n`;
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
