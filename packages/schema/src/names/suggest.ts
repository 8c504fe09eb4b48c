import { closest, distance } from 'fastest-levenshtein';

/** Levenshtein distance, in UTF-16 code units. */
export { distance as editDistance } from 'fastest-levenshtein';

const MAX_NAME_LENGTH = 64;

/** Returns the most similar known name; undefined if none is similar enough. */
export function suggest(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_NAME_LENGTH || known.length === 0) return undefined;
  const lower = name.toLowerCase();
  const sameLetters = known.find((candidate) => candidate.toLowerCase() === lower);
  if (sameLetters !== undefined) return sameLetters;
  const best = closest(name, known);
  return distance(name, best) <= Math.max(1, Math.floor(name.length / 3)) ? best : undefined;
}
