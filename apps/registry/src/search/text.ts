/** Converts text to full-text words, for the index and for queries. Pure. */

/** Code points of a query that are used; people type fewer. */
const MAX_QUERY_LENGTH = 200;
/** Words of a query that are searched for. */
const MAX_QUERY_WORDS = 12;

/** What FTS5's unicode61 tokenizer treats as one word, and the marks that it removes. */
const WORD = /[\p{L}\p{N}\p{Co}\p{M}]+/gu;
const PART = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?[^\p{Lu}\p{N}]+|\p{N}+/gu;

/** Splits a name in PascalCase or camelCase: `HTTPRouteV2` is `HTTP`, `Route`, `V2`. */
export function splitName(name: string): string[] {
  return name.match(PART) ?? [];
}

/**
 * Returns the searchable text of a kind: its words, and the words joined from each one on, so that `node`,
 * `nodelabels`, and `setnodelabels` find `SetNodeLabels`.
 */
export function kindText(kind: string): string {
  return (kind.match(WORD) ?? [])
    .flatMap((word) => {
      const parts = splitName(word).slice(0, MAX_QUERY_WORDS);
      return [...parts.slice(0, -1).map((_, at) => parts.slice(at).join('')), ...parts];
    })
    .join(' ');
}

export interface TextQuery {
  /** FTS5 expression that selects the results. */
  found: string;
  /** Expression with the same results, for the weights of bm25. */
  match: string;
  /** The query as one lower-case word, to compare with an exact kind. */
  joined: string;
}

/** Returns the words of a query that are searched for. */
export function queryWords(text: string): string[] {
  return ([...text].slice(0, MAX_QUERY_LENGTH).join('').match(WORD) ?? []).slice(0, MAX_QUERY_WORDS);
}

/** Returns undefined if the text contains no searchable word. */
export function textQuery(text: string): TextQuery | undefined {
  const words = queryWords(text);
  if (words.length === 0) return undefined;
  const joined = words.join('').toLowerCase();
  const expression = (weighed: boolean): string => {
    const all = words.map((word, at) => wordExpression(word, at === words.length - 1, weighed)).join(' AND ');
    return words.length === 1 ? all : `(${all}) OR ${prefix(joined)}`;
  };
  return { found: expression(false), match: expression(true), joined };
}

/** Matches a word, its prefix, its singular, and its parts if it is a name. */
function wordExpression(word: string, last: boolean, weighed: boolean): string {
  const lower = word.toLowerCase();
  const begins = last || [...lower].length >= 2;
  const alternatives: string[] = [];
  // The whole word next to its prefix finds nothing more, but counts twice: `name` ranks above `namespace`.
  if (weighed || !begins) alternatives.push(quote(lower));
  if (begins) alternatives.push(prefix(lower));
  alternatives.push(...singulars(lower).map(quote));
  const parts = splitName(word).slice(0, MAX_QUERY_WORDS);
  if (parts.length > 1) {
    const inner = parts.map((part, at) => (at === parts.length - 1 ? prefix(part) : quote(part)));
    alternatives.push(`(${inner.join(' AND ')})`);
  }
  return `(${alternatives.join(' OR ')})`;
}

/** Returns singulars of an English plural. Prefix search covers the opposite direction. */
function singulars(word: string): string[] {
  if (!/^[a-z]{3,}s$/.test(word) || word.endsWith('ss')) return [];
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`];
  return /(?:ch|sh|x|s|z)es$/.test(word) ? [word.slice(0, -2), word.slice(0, -1)] : [word.slice(0, -1)];
}

/** Quotes a string of FTS5's query language, without operators (https://sqlite.org/fts5.html#fts5_strings). */
function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}

function prefix(word: string): string {
  return `${quote(word)}*`;
}
