/**
 * Controls in text from publishers. The renderer escapes; this file handles characters that are invisible or change
 * the direction of other text.
 */

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/** C1 controls, embeddings, overrides and isolates (Unicode "Bidi_Control" except marks), zero width, tags. */
const HIDDEN =
  /[\u0080-\u009f\u061c\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/**
 * Replaces controls with their pictures, such as `␛`, and other hidden characters with `�`. Line ends and tabs stay.
 */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(CONTROLS, (character) => {
      const code = character.charCodeAt(0);
      return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
    })
    .replace(HIDDEN, '\ufffd');
}

/** Truncates a text, with `…` at the end; never splits a surrogate pair. */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
