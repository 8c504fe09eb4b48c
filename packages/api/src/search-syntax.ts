import { canonicalRelease, type Digest, type FunctionName, isDigest, isGroup, isKind } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { describeFacet, FACET_NAMES, type FacetName, isYesOrNo } from '@krmhub/schema/facets';

/**
 * The syntax of a search text. The API, the search page, and suggestions read it with `parseSearch`; the command line
 * and docs/use.md explain it with `SEARCH_SYNTAX`.
 */

/** What can be in a search text, with an example and what it finds. */
export const SEARCH_SYNTAX: readonly (readonly [example: string, meaning: string])[] = [
  ['set labels', 'all words; the start of a word is enough'],
  ['"set labels"', 'these words one after the other'],
  ['labels -helm', 'without the functions that the word finds'],
  ['kind:Set', 'a word of the kind'],
  ['field:labelSelector', 'a field of the functionConfig'],
  ['tag:mutator', 'a filter; also group:, owner:, license:, …'],
  ['-tag:mutator', 'without the functions that the filter finds'],
  ['is:signed', 'also is:pinned, is:deprecated, -is:deprecated'],
  ['example.com/SetLabels@1.0.0', 'a function, or a release of it'],
  ['ghcr.io/example/', 'what runs an image; the start is enough'],
  ['sha256:…', 'the digest of a release, an image, or a script'],
];

/** Limits on a search text: more is ignored. */
const LIMITS = {
  /** UTF-16 code units that are read. */
  maxLength: 500,
  /** Words, phrases, and filters. */
  maxTerms: 32,
} as const;

/** A word or a phrase. */
export interface SearchTerm {
  /** Without quotes. A word has no white space; it can still have characters that separate words, such as `set-labels`. */
  text: string;
  /** Whether its words must be one after the other. */
  isPhrase: boolean;
  /** What it is about, if not everything: the kind, or the fields of the functionConfig. */
  within?: 'kind' | 'field';
  /** Whether functions that have it are left out. */
  isExcluded: boolean;
}

export type SearchFilters = Partial<Record<FacetName, string[]>>;

export interface SearchExpression {
  terms: SearchTerm[];
  filters: SearchFilters;
  /** Values that a function must not have. */
  without: SearchFilters;
}

/** Facets by what people type before the colon, in lower case. */
const FIELDS = new Map(
  FACET_NAMES.filter((name) => name !== 'kind').flatMap((name) =>
    [name, ...(describeFacet(name).aliases ?? [])].map((word): [string, FacetName] => [
      word.toLowerCase(),
      name,
    ]),
  ),
);

/** A reference can be copied from a manifest with its key `image:`. */
const TOKEN = /((?:-|image:)*)(?:([a-z]+):)?(?:"([^"]*)(?:"|$)|([^\s"]+))/gi;

/** Reads a search text. Everything is valid: what is not syntax is a word, and a quote without its end ends the text. */
export function parseSearch(text: string): SearchExpression {
  const expression: SearchExpression = { terms: [], filters: {}, without: {} };
  let count = 0;
  for (const [, before = '', field, quoted, plain] of text.slice(0, LIMITS.maxLength).matchAll(TOKEN)) {
    if (count++ === LIMITS.maxTerms) break;
    addToken(expression, {
      isExcluded: before.includes('-'),
      isPhrase: quoted !== undefined,
      field: field ?? '',
      value: quoted?.replace(/\s+/g, ' ').trim() ?? plain ?? '',
    });
  }
  return expression;
}

interface Token {
  isExcluded: boolean;
  isPhrase: boolean;
  field: string;
  value: string;
}

function addToken(expression: SearchExpression, token: Token): void {
  const { isExcluded, isPhrase, field, value } = token;
  const name = field.toLowerCase();
  const addWord = (text: string, word: Partial<SearchTerm> = {}) => {
    if (text !== '') expression.terms.push({ text, isPhrase, isExcluded, ...word });
  };
  if (name === '') {
    addWord(isPhrase ? value : value.replace(/^(?:image:|-)+$/i, ''));
  } else if (name === 'kind' || name === 'field') {
    addWord(value, { within: name });
  } else if (value !== '' && !addFilter(expression, name, value, isExcluded)) {
    if (isPhrase) addWord(field, { isPhrase: false });
    addWord(isPhrase ? value : `${field}:${value}`);
  }
}

/** Returns whether it is a filter. Values that a facet does not have are words. */
function addFilter(
  { filters, without }: SearchExpression,
  field: string,
  value: string,
  isExcluded: boolean,
): boolean {
  const facet = field === 'is' ? FIELDS.get(value.toLowerCase()) : FIELDS.get(field);
  if (facet === undefined || (field === 'is' && !isYesOrNo(facet))) return false;
  const { values, maxLength } = describeFacet(facet);
  const given = field === 'is' ? 'true' : isYesOrNo(facet) ? value.toLowerCase() : value;
  if (given.length > maxLength || values?.includes(given) === false) return false;
  if (isYesOrNo(facet)) add(filters, facet, String((given === 'true') !== isExcluded));
  else add(isExcluded ? without : filters, facet, given);
  return true;
}

function add(filters: SearchFilters, facet: FacetName, value: string): void {
  const values = filters[facet] ?? [];
  filters[facet] = values.includes(value) ? values : [...values, value];
}

/** Returns a text that `parseSearch` reads as this expression. */
export function formatSearch({ terms, filters, without }: Partial<SearchExpression>): string {
  const fields = (given: SearchFilters = {}, minus = '') =>
    FACET_NAMES.flatMap((name) => (given[name] ?? []).map((value) => `${minus}${name}:${quoted(value)}`));
  return [...(terms ?? []).map(formatTerm), ...fields(filters), ...fields(without, '-')].join(' ');
}

function formatTerm({ text, isPhrase, within, isExcluded }: SearchTerm): string {
  return `${isExcluded ? '-' : ''}${within === undefined ? '' : `${within}:`}${isPhrase ? `"${text}"` : text}`;
}

function quoted(value: string): string {
  return /^[^\s"]+$/.test(value) ? value : `"${value}"`;
}

/** What a term names besides words. */
export interface NamedThing {
  /** The term is `GROUP/KIND` or `GROUP/KIND@RELEASE`. */
  name?: FunctionName & { release?: string };
  digest?: Digest;
  /** The term can be the start of an image reference. Words have no slash, and few texts with a colon are no references. */
  reference?: string;
}

/** Returns what the only word of a search names. */
export function namedThing({ terms }: SearchExpression): NamedThing {
  const [term, ...others] = terms.filter(({ isExcluded }) => !isExcluded);
  return term === undefined || others.length > 0 ? {} : thingOf(term);
}

/** Returns what a term names. */
export function thingOf({ text, within }: SearchTerm): NamedThing {
  if (within !== undefined || /\s/.test(text)) return {};
  if (isDigest(text)) return { digest: text };
  const name = functionName(text);
  return defined({ name, reference: /[/:@]/.test(text) ? text : undefined });
}

function functionName(text: string): NamedThing['name'] {
  const [, group = '', kind = '', wanted] = /^([^/@]+)\/([^/@]+)(?:@([^/@]+))?$/.exec(text) ?? [];
  if (!isGroup(group) || !isKind(kind)) return undefined;
  if (wanted === undefined) return { group, kind };
  const release = canonicalRelease(wanted);
  return release === undefined ? undefined : { group, kind, release };
}
