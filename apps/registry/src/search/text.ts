/** How text becomes full-text words, in the index and in queries. Pure. */

/** Code points of a query that are read; a person types fewer. */
const MAX_QUERY_LENGTH = 200;
/** Words of a query that are sought. */
const MAX_QUERY_WORDS = 12;

/** What FTS5's unicode61 tokenizer takes as one word, and the marks that it folds away. */
const WORD = /[\p{L}\p{N}\p{Co}\p{M}]+/gu;
const PART = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?[^\p{Lu}\p{N}]+|\p{N}+/gu;

/** The words of a name in PascalCase or camelCase: `HTTPRouteV2` is `HTTP`, `Route`, `V2`. */
export function splitName(name: string): string[] {
  return name.match(PART) ?? [];
}

/**
 * What a kind is found by: its words, and these joined from each word on, so that `SetNodeLabels` is found by
 * `node`, `nodelabels` and `setnodelabels`.
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
  /** FTS5 expression of what is found at all. */
  found: string;
  /** It finds the same, and bm25 weighs by it. */
  match: string;
  /** The query as one lower-case word: what an exact kind is equal to. */
  joined: string;
}

/** Undefined where the text holds no word that could be found. */
export function textQuery(text: string): TextQuery | undefined {
  const words = ([...text].slice(0, MAX_QUERY_LENGTH).join('').match(WORD) ?? []).slice(0, MAX_QUERY_WORDS);
  if (words.length === 0) return undefined;
  const joined = words.join('').toLowerCase();
  const expression = (weighed: boolean): string => {
    const all = words.map((word, at) => wordExpression(word, at === words.length - 1, weighed)).join(' AND ');
    return words.length === 1 ? all : `(${all}) OR ${prefix(joined)}`;
  };
  return { found: expression(false), match: expression(true), joined };
}

/** A word, what it is the beginning of, its singular, and its parts where it is a name itself. */
function wordExpression(word: string, last: boolean, weighed: boolean): string {
  const lower = word.toLowerCase();
  const begins = last || [...lower].length >= 2;
  const ways: string[] = [];
  // The whole word beside its prefix finds nothing more, but counts twice: `name` is nearer than `namespace`.
  if (weighed || !begins) ways.push(quote(lower));
  if (begins) ways.push(prefix(lower));
  ways.push(...singulars(lower).map(quote));
  const parts = splitName(word).slice(0, MAX_QUERY_WORDS);
  if (parts.length > 1) {
    const inner = parts.map((part, at) => (at === parts.length - 1 ? prefix(part) : quote(part)));
    ways.push(`(${inner.join(' AND ')})`);
  }
  return `(${ways.join(' OR ')})`;
}

/** Prefix search makes the plural of a singular; this makes the singular of an English plural. */
function singulars(word: string): string[] {
  if (!/^[a-z]{3,}s$/.test(word) || word.endsWith('ss')) return [];
  if (word.endsWith('ies')) return [`${word.slice(0, -3)}y`];
  return /(?:ch|sh|x|s|z)es$/.test(word) ? [word.slice(0, -2), word.slice(0, -1)] : [word.slice(0, -1)];
}

/** A string of FTS5's query language, in which nothing is an operator (https://sqlite.org/fts5.html#fts5_strings). */
function quote(word: string): string {
  return `"${word.replaceAll('"', '""')}"`;
}

function prefix(word: string): string {
  return `${quote(word)}*`;
}
