import { type Int, normalizeInt } from '../values/integer.js';

/** A number literal, or why it is not one. `length` is in characters. */
export type NumberLiteral =
  | { kind: 'int'; value: Int; length: number }
  | { kind: 'float'; value: number; length: number }
  | { kind: 'invalid'; message: string };

const NUMBER = /0[xX][0-9a-fA-F]*|0[oO][0-7]*|0[bB][01]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d*)?/y;
/** Longer literals take long to convert. */
const MAX_DIGITS = 100_000;

/** Reads the number literal at `offset`, which starts with a digit, or a dot and a digit. */
export function scanNumber(text: string, offset: number): NumberLiteral {
  NUMBER.lastIndex = offset;
  const literal = NUMBER.exec(text)![0];
  const { length } = literal;
  if (length > MAX_DIGITS) return { kind: 'invalid', message: 'int literal too long' };
  const base = /^0[xob]/i.exec(literal)?.[0].toLowerCase();
  if (base !== undefined) {
    if (length === 2) {
      const name = { '0x': 'hex', '0o': 'octal', '0b': 'binary' }[base]!;
      return { kind: 'invalid', message: `invalid ${name} literal` };
    }
    return { kind: 'int', value: normalizeInt(BigInt(literal)), length };
  }
  if (/[.eE]/.test(literal)) {
    const value = Number(literal);
    return Number.isFinite(value)
      ? { kind: 'float', value, length }
      : { kind: 'invalid', message: 'invalid float literal' };
  }
  if (/^0[0-7]*[1-7]/.test(literal)) {
    return { kind: 'invalid', message: `obsolete form of octal literal; use 0o${literal.slice(1)}` };
  }
  if (/^0+[1-9]/.test(literal)) return { kind: 'invalid', message: 'invalid int literal' };
  return { kind: 'int', value: normalizeInt(BigInt(literal)), length };
}
