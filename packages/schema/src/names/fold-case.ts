/**
 * Returns a name as decoders compare it that ignore case, such as the JSON library of Go: two letters outside of ASCII, the
 * long s and the Kelvin sign, stand for s and k there (Unicode simple case folding).
 */
export function foldCase(name: string): string {
  return name.toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k');
}
