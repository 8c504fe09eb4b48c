import type { Int } from '../values/integer.js';

/** Words with a meaning of their own. */
export const KEYWORDS = [
  'and',
  'break',
  'continue',
  'def',
  'elif',
  'else',
  'for',
  'if',
  'in',
  'lambda',
  'load',
  'not',
  'or',
  'pass',
  'return',
  'while',
] as const;

/** Words kept for later versions of the language: they cannot be names. */
const RESERVED_WORDS: ReadonlySet<string> = new Set(
  'as async await class del except finally from global import is nonlocal raise try with yield'.split(' '),
);

/** Operators and delimiters; the scanner takes the longest that fits. */
export const PUNCTUATION = [
  '<<=',
  '>>=',
  '//=',
  '**',
  '//',
  '<<',
  '>>',
  '<=',
  '>=',
  '==',
  '!=',
  '+=',
  '-=',
  '*=',
  '/=',
  '%=',
  '&=',
  '|=',
  '^=',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  ';',
  '.',
  '=',
  '<',
  '>',
  '+',
  '-',
  '*',
  '/',
  '%',
  '&',
  '|',
  '^',
  '~',
] as const;

export type TokenKind =
  | (typeof KEYWORDS)[number]
  | (typeof PUNCTUATION)[number]
  | 'identifier'
  | 'reserved word'
  | 'int'
  | 'float'
  | 'string'
  | 'bytes'
  | 'newline'
  | 'indent'
  | 'outdent'
  | 'end of file';

/** One token. Offsets are in UTF-16 code units. */
export interface Token {
  kind: TokenKind;
  start: number;
  end: number;
  /** The text of an identifier, reserved word or string; the value of a number; the bytes of a bytes literal. */
  value?: string | Int | Uint8Array;
}

const WORDS: ReadonlySet<string> = new Set(KEYWORDS);

/** Returns the kind of a word: a keyword, `reserved word`, or `identifier`. */
export function wordKind(word: string): TokenKind {
  if (WORDS.has(word)) return word as TokenKind;
  return RESERVED_WORDS.has(word) ? 'reserved word' : 'identifier';
}
