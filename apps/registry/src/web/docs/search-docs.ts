import MiniSearch from 'minisearch';
import { headingId } from '../markdown.js';
import { type Docs, splitAtHeadings } from './read-docs.js';

/** A section of the documentation that has the words of a search. */
export interface DocsHit {
  /** As in `DocsPage`. */
  page: string;
  /** Of the heading; empty for the start of the page. */
  id: string;
  title: string;
  heading: string;
  /** The first sentence with one of the words. */
  excerpt: string;
}

const MAX_HITS = 20;
const MAX_EXCERPT = 200;
/** Others are ignored: each costs as much as the first. */
const MAX_WORDS = 10;
/** Characters of a word. The beginning of a short one, or its misspellings, are those of most words. */
const MIN_PREFIX = 3;
const MIN_MISSPELLED = 5;

/** The different words of a search. */
function searchWords(text: string): string[] {
  return [...new Set(MiniSearch.getDefault('tokenize')(text.toLowerCase()) as string[])].slice(0, MAX_WORDS);
}

/** Returns a search over the sections of all pages: words, their beginnings, and small misspellings. */
export function docsSearch({ pages }: Docs): (words: string) => DocsHit[] {
  const sections = [...pages.values()].flatMap((page) =>
    splitAtHeadings(page.text, 2).map((text, index) => {
      const heading = /^##? +(.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? page.title;
      return {
        id: `${page.name}#${index}`,
        page: page.name,
        anchor: index === 0 ? '' : headingId(heading),
        title: page.title,
        heading,
        text: text.replace(/^##? .*$/m, ''),
      };
    }),
  );
  const index = new MiniSearch<(typeof sections)[number]>({ fields: ['page', 'title', 'heading', 'text'] });
  index.addAll(sections);
  const byId = new Map(sections.map((section) => [section.id, section]));
  return (words) =>
    index
      .search(words, {
        tokenize: searchWords,
        prefix: (word) => word.length >= MIN_PREFIX,
        fuzzy: (word) => word.length >= MIN_MISSPELLED && 0.15,
        combineWith: 'AND',
        boost: { page: 4, title: 4, heading: 3 },
      })
      .slice(0, MAX_HITS)
      .map(({ id, terms }) => {
        const { page, anchor, title, heading, text } = byId.get(String(id))!;
        return { page, id: anchor, title, heading, excerpt: excerpt(text, terms) };
      });
}

function excerpt(text: string, terms: readonly string[]): string {
  const prose = text
    .replace(/^```.*$|^\|[-|: ]+\|$|^ *(?:[-*]|\d+\.) /gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`|\*\*/g, '')
    .replaceAll('|', ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const lower = prose.toLowerCase();
  const found = terms.map((term) => lower.indexOf(term)).filter((at) => at !== -1);
  const at = Math.min(...found, lower.length);
  const sentence = prose.lastIndexOf('. ', at) + 1;
  const isNear = at === lower.length || at - sentence < MAX_EXCERPT / 2;
  const start = isNear ? (at === lower.length ? 0 : sentence) : prose.indexOf(' ', at - MAX_EXCERPT / 2);
  const end =
    start + MAX_EXCERPT >= prose.length ? prose.length : prose.lastIndexOf(' ', start + MAX_EXCERPT);
  return `${isNear ? '' : '…'}${prose.slice(start, end).trim()}${end < prose.length ? '…' : ''}`;
}
