import { isBreak } from '../parse/cursor.js';

const ESCAPED = /["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\u{10000}-\u{10ffff}]/gu;
const NAMES: Readonly<Record<string, string>> = {
  '\0': '0',
  '\x07': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\x1b': 'e',
  '"': '"',
  '\\': '\\',
  '\x85': 'N',
  '\u2028': 'L',
  '\u2029': 'P',
};

/** Text in double quotes. Long lines are not folded. */
export function doubleQuoted(value: string): string {
  return `"${value.replace(ESCAPED, (char) => {
    const name = NAMES[char];
    if (name !== undefined) return `\\${name}`;
    const code = char.codePointAt(0)!;
    const [letter, length] = code <= 0xff ? ['x', 2] : code <= 0xffff ? ['u', 4] : ['U', 8];
    return `\\${letter}${code
      .toString(16)
      .toUpperCase()
      .padStart(length as number, '0')}`;
  })}"`;
}

/** The indicators behind `|` or `>`: a hint for the indentation in columns, and what to do with line breaks at the end. */
export function blockHints(value: string, columns: number): string {
  const first = value.charCodeAt(0);
  const indentation = first === 0x20 || isBreak(first) ? String(columns) : '';
  if (!isBreak(value.charCodeAt(value.length - 1))) return `${indentation}-`;
  if (value.length === 1 || isBreak(value.charCodeAt(value.length - 2))) return `${indentation}+`;
  return indentation;
}
