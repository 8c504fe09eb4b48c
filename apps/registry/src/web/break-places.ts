/** Characters of a name that fit in one line of a heading on a phone. */
const MAX_WHOLE = 22;
/** Characters between two places, at least. */
const MIN_PIECE = 4;

const PLACES = /(?<=[^/]\/)(?=[^/])|(?<=[\w)>}][.:@=,_])(?=[\w<{])|(?<=[a-z\d])(?=[A-Z])/;

/**
 * Returns the pieces of a name between which a line may break: after a slash or a dot, and before a capital letter. A short
 * name is one piece.
 */
export function breakablePieces(name: string, maxWhole = MAX_WHOLE): string[] {
  if (name.length <= maxWhole) return [name];
  const pieces: string[] = [];
  let piece = '';
  for (const part of name.split(PLACES)) {
    piece += part;
    if (piece.length < MIN_PIECE) continue;
    pieces.push(piece);
    piece = '';
  }
  if (piece !== '') pieces.push((pieces.pop() ?? '') + piece);
  return pieces;
}
