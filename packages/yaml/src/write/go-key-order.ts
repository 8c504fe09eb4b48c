/**
 * Compares keys as go-yaml 2 sorts them: numbers in them by their value, letters behind all other characters. A port of
 * its `keyList.Less`.
 */
export function compareGoKeys(a: string, b: string): number {
  const [one, other] = [[...a], [...b]];
  for (let at = 0; at < one.length && at < other.length; at++) {
    const [first, second] = [one[at]!, other[at]!];
    if (first === second) continue;
    const letters = [first, second].map((character) => /^\p{L}$/u.test(character));
    if (letters[0] !== letters[1]) return letters[1] === true ? -1 : 1;
    if (letters[0] === true) return codePoint(first) - codePoint(second);
    return compareNumbers(one, other, at) || codePoint(first) - codePoint(second);
  }
  return one.length - other.length;
}

/** Compares the digits from a position on, with regard to digits before it. */
function compareNumbers(one: readonly string[], other: readonly string[], at: number): number {
  const before = one.slice(0, at).join('');
  const isAfterNumber = (one[at] === '0' || other[at] === '0') && /[^0\P{Nd}]0*$/u.test(before);
  const [a, b] = [digitsFrom(one, at), digitsFrom(other, at)];
  const [first, second] = [a, b].map((digits) =>
    BigInt.asIntN(64, BigInt(`${isAfterNumber ? 1 : 0}${digits}`)),
  );
  if (first !== second) return first! < second! ? -1 : 1;
  return a.length - b.length;
}

function digitsFrom(characters: readonly string[], at: number): string {
  return /^\d*/.exec(characters.slice(at).join(''))![0];
}

function codePoint(character: string): number {
  return character.codePointAt(0)!;
}
