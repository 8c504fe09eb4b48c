import type { SearchTerm } from '@krmhub/api/search-syntax';
import { differsInOne, editDistance } from '@krmhub/schema/suggest';
import type { SqliteClient } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';
import type { Seen, textHits } from './hits.js';
import type { SeenColumns } from './seen-columns.js';
import { foldCase, queryWords, textQuery } from './text.js';

/** Limits of the work for one search. */
const SPELLING_LIMITS = {
  /** Unknown words of a query that are corrected. */
  maxWords: 3,
  /** A shorter word has too many neighbors. */
  minLength: 4,
  /** Longer words are not words. */
  maxLength: 40,
  /** Indexed words with the same first letter that are compared. 100,000 functions have about 3,000. */
  maxCompared: 20_000,
  /** Words whose functions are counted once for each reader. */
  maxCounted: 10_000,
} as const;

interface Word {
  term: string;
  doc: number;
}

type Searched = Pick<SeenColumns, 'sees' | 'state' | 'words'>;

/**
 * Corrects the words of a query that no function has: to the indexed word with the fewest other letters, and of these
 * to the most frequent. A word that no function of the search has does not exist. Only words with the same first letter
 * are compared, or with the first two letters swapped, so the work does not grow with the number of functions. Returns
 * undefined if nothing is near.
 */
export function spelling(
  { client }: SqliteClient,
  { find, count }: ReturnType<typeof textHits>,
): (terms: readonly SearchTerm[], columns: Searched) => SearchTerm[] | undefined {
  const selectWords = prepared(() =>
    client.prepare<[from: string, to: string], Word>(
      `SELECT term, doc FROM function_text_words WHERE term >= ? AND term < ? LIMIT ${SPELLING_LIMITS.maxCompared}`,
    ),
  );
  /** By letter, for one state: reading how many functions have each word takes most of the time of a correction. */
  let remembered = { state: 0, words: new Map<string, Word[]>() };
  const wordsFrom = (letter: string): Word[] => {
    const words = remembered.words.get(letter) ?? selectWords.all(letter, `${letter}\u{10ffff}`);
    remembered.words.set(letter, words);
    return words;
  };
  const isKnown = (word: string, seen: Seen): boolean => {
    const query = textQuery([{ text: word, isPhrase: false, isExcluded: false }]);
    return query !== undefined && find(query, seen).ids.length > 0;
  };
  const countOf = (term: string, { sees, words }: Searched): number => {
    const known = words.get(term) ?? count(term, sees);
    if (words.size < SPELLING_LIMITS.maxCounted) words.set(term, known);
    return known;
  };
  const mostFrequent = (candidates: readonly Word[], searched: Searched): string | undefined => {
    let best: Word | undefined;
    for (const { term, doc: all } of candidates) {
      const doc = searched.sees === undefined ? all : countOf(term, searched);
      if (doc > (best?.doc ?? 0)) best = { term, doc };
    }
    return best?.term;
  };
  const nearest = (word: string, searched: Searched): string | undefined => {
    const length = [...word].length;
    if (length < SPELLING_LIMITS.minLength || length > SPELLING_LIMITS.maxLength) return undefined;
    const [first = '', second = ''] = word;
    const compared = [...new Set([first, second])].flatMap(wordsFrom);
    const most = length < 6 ? 1 : 2;
    const near: Word[][] = [[], [], []];
    for (const { term, doc } of compared) {
      // Of the word itself it is known that no function of the search has it.
      if (Math.abs(term.length - word.length) > most || term === word) continue;
      const distance = differsInOne(term, word) ? 1 : editDistance(term, word);
      if (distance > most || (!term.startsWith(first) && distance > 1)) continue;
      near[distance]!.push({ term, doc });
    }
    for (const candidates of near) {
      const best = mostFrequent(candidates, searched);
      if (best !== undefined) return best;
    }
    return undefined;
  };

  return (terms, searched) => {
    const { sees: seen, state } = searched;
    if (remembered.state !== state) remembered = { state, words: new Map() };
    let tried = 0;
    let changed = false;
    const correctWord = (word: string): string => {
      if (tried >= SPELLING_LIMITS.maxWords || isKnown(word, seen)) return word;
      tried += 1;
      const near = nearest(foldCase(word), searched);
      changed ||= near !== undefined;
      return near ?? word;
    };
    const corrected = terms.flatMap((term) =>
      term.isPhrase || term.isExcluded || term.within === 'field'
        ? [term]
        : queryWords(term.text).map((word) => ({ ...term, text: correctWord(word) })),
    );
    return changed ? corrected : undefined;
  };
}
