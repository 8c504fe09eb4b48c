/**
 * Folds the case of a name as case-insensitive decoders do, such as the JSON library of Go: the long s and the Kelvin
 * sign equal s and k (Unicode simple case folding).
 */
export function foldCase(name: string): string {
  return name.toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k');
}
