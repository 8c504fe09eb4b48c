/** Untrusted text on a terminal: its control characters must not reach the terminal, and its width must be known. */

const CONTROLS = /[\u0000-\u001f\u007f]/g;
/** C1 controls, and characters that reorder or hide text (Unicode "Bidi_Control", zero width). */
const HIDDEN =
  /[\u0080-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

const CONTROL_OR_HIDDEN = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f\\u007f]|${HIDDEN.source}`, 'u');

/** Replaces control characters by visible ones: ESC by `␛`, hidden characters by `�`. */
export function escapeControls(text: string): string {
  return text
    .replace(CONTROLS, (character) => {
      const code = character.charCodeAt(0);
      return String.fromCharCode(code === 0x7f ? 0x2421 : 0x2400 + code);
    })
    .replace(HIDDEN, '\ufffd');
}

/** What `paint` writes: bold, dim, and the eight colors, and their ends. */
const COLORS = /(\u001b\[(?:[12]|22|3[0-79])m)/;

/** Escapes controls of a text of several lines, except line breaks, tabs, and, with `colors`, the codes of `paint`. */
export function escapeText(text: string, { colors }: { colors: boolean }): string {
  if (!CONTROL_OR_HIDDEN.test(text)) return text;
  const parts = colors ? text.split(COLORS) : [text];
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .split(/([\n\t])/)
            .map(escapePart)
            .join(''),
    )
    .join('');
}

function escapePart(part: string): string {
  return part === '\n' || part === '\t' ? part : escapeControls(part);
}

/** Returns one line: collapses white space and removes control characters. */
export function oneLine(text: string): string {
  return text
    .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' ')
    .replace(CONTROLS, '')
    .replace(HIDDEN, '')
    .replace(/ {2,}/g, ' ')
    .trim();
}

const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
/** East Asian wide and full-width characters, and emoji (UAX 11). */
const WIDE =
  /^[\u1100-\u115f\u231a\u231b\u23e9-\u23ec\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

function characterWidth(character: string): number {
  const code = character.codePointAt(0)!;
  if (code < 0x300) return 1;
  return ZERO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}

/**
 * Returns the columns of a line on a terminal. string-width also measures emoji of several code points, but takes seven
 * times as long to load, and every command would wait for that.
 */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Shortens a text to a number of columns, with `…` at the cut. */
export function shorten(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let width = 0;
  let result = '';
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    result += character;
  }
  return `${result.trimEnd()}…`;
}

/** Shortens a text at its start, for what differs at its end: `…/app/labels.yaml:12`. */
export function shortenStart(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let width = 0;
  let result = '';
  for (const character of [...text].reverse()) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    result = character + result;
  }
  return `…${result}`;
}

export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - textWidth(text), 0));
}

/** Wraps a text at blanks. A word that is too long gets its own line. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  if (line !== '' || lines.length === 0) lines.push(line);
  return lines;
}

export function plural(count: number, singular: string, several = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : several}`;
}

/** Text as one word of a POSIX shell ("Quoting"), in quotes only if they are necessary. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : shellQuote(text);
}

/** Text as one quoted word of a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
