/** Text from elsewhere on a page: escaping is the renderer's, what is invisible or turns other text around is ours. */

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/** C1 controls, embeddings, overrides and isolates (Unicode "Bidi_Control" but for marks), zero width, tags. */
const HIDDEN =
  /[\u0080-\u009f\u061c\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** The text with controls as their pictures, such as `␛`, and others that hide as `�`. Line ends and tabs stay. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(CONTROLS, (character) => {
      const code = character.charCodeAt(0);
      return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
    })
    .replace(HIDDEN, '\ufffd');
}

/** At most so many characters, with `…` where something is missing; never half of a surrogate pair. */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
