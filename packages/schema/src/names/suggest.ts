import { closest, distance } from 'fastest-levenshtein';

/** Levenshtein distance, in UTF-16 code units. */
export { distance as editDistance } from 'fastest-levenshtein';

/**
 * Reports whether two texts differ in one character: added, missing, another one, or swapped with its neighbor
 * (a Damerau-Levenshtein distance of 1).
 */
export function differsInOne(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (a[at] === b[at]) at += 1;
  const [rest, other] = [a.slice(at + 1), b.slice(at + 1)];
  if (rest === other || a.slice(at) === other || rest === b.slice(at)) return true;
  return a[at] === b[at + 1] && a[at + 1] === b[at] && rest.slice(1) === other.slice(1);
}

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
