import { distance } from 'fastest-levenshtein';

/** Letters of a name that count. */
const MAX_COMPARED = 64;

const fold = (name: string) => name.replaceAll('_', '').toLowerCase();

/** Returns ` (did you mean x?)` for the candidate most like `name`, or an empty string if none is close. */
export function suggest(name: string, candidates: Iterable<string>, prefix = ''): string {
  const wanted = fold(name);
  let best: string | undefined;
  let bestDistance = Math.floor((wanted.length + 1) / 2);
  for (const candidate of candidates) {
    const other = fold(candidate);
    if (Math.abs(other.length - wanted.length) >= bestDistance) continue;
    const apart = distance(wanted.slice(0, MAX_COMPARED), other.slice(0, MAX_COMPARED));
    if (apart < bestDistance) {
      bestDistance = apart;
      best = candidate;
    }
  }
  return best === undefined ? '' : ` (did you mean ${prefix}${best}?)`;
}
