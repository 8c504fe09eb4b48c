const fold = (name: string) => name.replaceAll('_', '').toLowerCase();

/** Returns ` (did you mean x?)` for the candidate most like `name`, or an empty string if none is close. */
export function suggest(name: string, candidates: Iterable<string>, prefix = ''): string {
  const wanted = fold(name);
  let best: string | undefined;
  let bestDistance = Math.floor((wanted.length + 1) / 2);
  for (const candidate of candidates) {
    const other = fold(candidate);
    if (Math.abs(other.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, other);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best === undefined ? '' : ` (did you mean ${prefix}${best}?)`;
}

/** Returns the Levenshtein distance. Only the first 64 characters count. */
function editDistance(x: string, y: string): number {
  const a = x.slice(0, 64);
  const b = y.slice(0, 64);
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
