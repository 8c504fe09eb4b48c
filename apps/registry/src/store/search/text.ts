/** Converts text to full-text words, for the index and for queries. Pure. */

import type { SearchTerm } from '@krmhub/api/search-syntax';
import { type ReleaseWords, STOP_WORDS, WORD } from '@krmhub/catalog';
import { defined } from '@krmhub/schema/defined';

/** Code points of a word or a phrase that are used. */
const MAX_WORD_LENGTH = 200;
/** Words of a query that are searched for. */
const MAX_QUERY_WORDS = 12;

const PART = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?[^\p{Lu}\p{N}]+|\p{N}+/gu;

/** Splits a name in PascalCase or camelCase: `HTTPRouteV2` is `HTTP`, `Route`, `V2`. */
export function splitName(name: string): string[] {
  return name.match(PART) ?? [];
}

/**
 * Returns the searchable text of a kind: its words, and the words joined from each one on, so that `node`,
 * `nodelabels`, and `setnodelabels` find `SetNodeLabels`. The whole kind is first.
 */
export function kindText(kind: string): string {
  const parts = (kind.match(WORD) ?? []).flatMap(splitName).slice(0, MAX_QUERY_WORDS);
  return [...parts.slice(0, -1).map((_, at) => parts.slice(at).join('')), ...parts].join(' ');
}

/**
 * Folds case as Unicode does for comparisons, and what NFKC makes equal: `GRÖSSE` and `größe` are the same word. The
 * index and queries use it. FTS5 also removes diacritics, but folds single characters only.
 */
export function foldCase(text: string): string {
  return (
    text
      .normalize('NFKC')
      // Upper case has the long form (ß is SS), and joins letters with one upper case (ı and i); ẞ needs ß first.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      .replaceAll('ς', 'σ')
  );
}

/**
 * Returns the searchable text of the words of a release: each as a kind, because it can be a name, and after a plural
 * its singular, because the beginning of such a word does not find it.
 */
export function wholeText({ fields, readme }: ReleaseWords): ReleaseWords {
  return { fields: namesText(fields), readme: namesText(readme) };
}

function namesText(words: string): string {
  const names = foldCase(words.split(' ').map(kindText).join(' '));
  return names
    .split(' ')
    .flatMap((word) => [word, ...singulars(word).slice(0, 1)])
    .join(' ');
}

/** FTS5 expressions. */
export interface TextQuery {
  /** For `function_text`. Absent if a word is about fields, which it does not have. */
  begun?: {
    /** Selects the functions that have every word, its beginning, or its singular. */
    found: string;
    /** Selects those that have every word as it is. */
    whole: string;
    /** Selects a column that begins with the words. */
    start: string;
    /** The query as a kind in lower case: joined, and with hyphens. */
    kinds: string[];
  };
  /**
   * For `function_text_whole`: selects the functions that have every word as it is, or its singular. Absent if READMEs
   * and fields cannot have them.
   */
  anywhere?: string;
  /** Selects what each word finds. Given if not all of them are needed. */
  each?: { begun: string; anywhere: string }[];
}

/** Columns that a phrase can be in. */
const PHRASE_COLUMNS = '{kind tags description group_name publisher}';
const WITHIN = { kind: '{kind}', field: '{fields}' } as const;

type Within = SearchTerm['within'];

/** Returns the words of a text. */
export function queryWords(text: string): string[] {
  const cut = (one: string) => [...one].slice(0, MAX_WORD_LENGTH).join('');
  return (cut(cut(text).normalize('NFKC')).match(WORD) ?? []).slice(0, MAX_QUERY_WORDS);
}

/** Returns undefined if the terms contain no searchable word. With `some`, not all words are needed. */
export function textQuery(terms: readonly SearchTerm[], { some = false } = {}): TextQuery | undefined {
  const all = terms.flatMap(({ text, isPhrase, within }) =>
    isPhrase ? [] : queryWords(text).map((word) => ({ word, within })),
  );
  const telling = all.filter(({ word, within }) => within !== undefined || !STOP_WORDS.has(foldCase(word)));
  const hasPhrase = terms.some(({ isPhrase }) => isPhrase);
  const words = (telling.length > 0 || hasPhrase ? telling : all).slice(0, MAX_QUERY_WORDS);
  const phrases = terms
    .filter(({ isPhrase }) => isPhrase)
    .map(({ text, within }) => ({ words: queryWords(text).map(foldCase), within }))
    .filter((phrase) => phrase.words.length > 0);
  if (words.length === 0 && phrases.length === 0) return undefined;

  const isOfFields = terms.some(({ within }) => within === 'field');
  const exact = phrases.map(
    (phrase) =>
      `(${phrase.within === undefined ? PHRASE_COLUMNS : WITHIN[phrase.within]} : ${quote(phrase.words.join(' '))})`,
  );
  const every = (match: (word: string, isLast: boolean) => string[], together: string): string => {
    const last = words.length - 1;
    const each = words.map(({ word, within }, at) => inside(within, matchAny(match(word, at === last))));
    if (some) return each.join(' OR ');
    const all = each.join(' AND ');
    const within = words.some((word) => word.within === 'kind') ? 'kind' : undefined;
    const either = words.length < 2 || isOfFields ? all : `((${all}) OR ${inside(within, together)})`;
    return [...(words.length === 0 ? [] : [either]), ...exact].join(' AND ');
  };
  // Stop words are parts of kinds, such as ForEach.
  const joined = terms
    .flatMap(({ text }) => queryWords(text))
    .slice(0, MAX_QUERY_WORDS)
    .map(foldCase);
  const together = joined.join('');
  return defined({
    begun: isOfFields
      ? undefined
      : {
          found: every(foundWord, prefix(together)),
          whole: every((word) => [quote(foldCase(word)), ...nameParts(word, quote)], quote(together)),
          start: `^ ${prefix(together)}`,
          kinds: [...new Set([together, joined.join('-')])],
        },
    anywhere:
      words.some(({ within }) => within !== 'kind') || isOfFields
        ? every(wholeWord, quote(together))
        : undefined,
    each: some
      ? words.map(({ word }) => ({
          begun: matchAny(foundWord(word, false)),
          anywhere: matchAny(wholeWord(word)),
        }))
      : undefined,
  });
}

/** Limits an expression to what it is about. */
function inside(within: Within, expression: string): string {
  return within === undefined ? expression : `(${WITHIN[within]} : ${expression})`;
}

/** Matches a word, its singular, and its parts if it is a name. */
function wholeWord(word: string): string[] {
  const folded = foldCase(word);
  return [quote(folded), ...singulars(folded).map(quote), ...nameParts(word, quote)];
}

/** Matches a word, its beginning, its singular, and its parts if it is a name. */
function foundWord(word: string, isLast: boolean): string[] {
  const folded = foldCase(word);
  const begins = isLast || [...folded].length >= 2;
  return [(begins ? prefix : quote)(folded), ...singulars(folded).map(quote), ...nameParts(word, prefix)];
}

/** Matches the parts of a name, the last one with `end`. */
function nameParts(word: string, end: (part: string) => string): string[] {
  const parts = splitName(word).slice(0, MAX_QUERY_WORDS).map(foldCase);
  if (parts.length < 2) return [];
  return [`(${parts.map((part, at) => (at === parts.length - 1 ? end : quote)(part)).join(' AND ')})`];
}

function matchAny(alternatives: string[]): string {
  return `(${alternatives.join(' OR ')})`;
}

/** Returns singulars of an English plural. Prefix search covers the opposite direction. */
function singulars(word: string): string[] {
  if (!/^[a-z]{3,}s$/.test(word) || word.endsWith('ss')) return [];
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`];
  return /(?:ch|sh|x|s|z)es$/.test(word) ? [word.slice(0, -2), word.slice(0, -1)] : [word.slice(0, -1)];
}

/** Quotes a string of FTS5's query language, without operators (https://sqlite.org/fts5.html#fts5_strings). */
export function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}

function prefix(word: string): string {
  return `${quote(word)}*`;
}
