const PREFIXES: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16 };

/**
 * Parses an int in a base from 2 to 36, with sign; base 0 takes it from the prefix `0b`, `0o`, or `0x`. Returns
 * undefined for other text.
 */
export function parseIntText(text: string, base: number): bigint | undefined {
  const found = /^([+-]?)(?:0([box]))?(.*)$/is.exec(text);
  const sign = found?.[1] ?? '';
  const letter = found?.[2]?.toLowerCase() ?? '';
  let digits = text.slice(sign.length);
  let radix = base;
  const prefix = digits.length > 2 ? PREFIXES[letter] : undefined;
  if (prefix !== undefined && (base === 0 || base === prefix)) {
    radix = prefix;
    digits = digits.slice(2);
  } else if (base === 0) {
    // A zero before other digits could mean base 8.
    if (/^0./s.test(digits)) return prefix === undefined && /^0+$/.test(digits) ? 0n : undefined;
    radix = 10;
  }
  const value = parseDigits(digits, radix);
  return value === undefined ? undefined : sign === '-' ? -value : value;
}

function parseDigits(digits: string, radix: number): bigint | undefined {
  if (!/^[0-9a-z]+$/i.test(digits)) return undefined;
  for (const digit of digits) if (!(Number.parseInt(digit, 36) < radix)) return undefined;
  const prefix = { 2: '0b', 8: '0o', 10: '', 16: '0x' }[radix];
  if (prefix !== undefined) return BigInt(prefix + digits);
  const base = BigInt(radix);
  let value = 0n;
  for (const digit of digits) value = value * base + BigInt(Number.parseInt(digit, 36));
  return value;
}

/** Longer texts are not numbers: reading takes time that grows with the square of the digits. */
const MAX_FLOAT_LENGTH = 100_000;
const DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i;
const HEXADECIMAL = /^([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?p([+-]?[0-9]+)$/i;

/**
 * Parses a float as Go's ParseFloat: decimal, or hexadecimal with binary exponent; an underscore may separate digits.
 * Returns an infinity for numbers that are too large, and undefined for other text.
 */
export function parseFloatText(text: string): number | undefined {
  if (text.length > MAX_FLOAT_LENGTH) return undefined;
  const hexadecimal = /^[+-]?0x/i.test(text);
  const plain = text.replace(hexadecimal ? /(?<=[0-9a-fx])_(?=[0-9a-f])/gi : /(?<=[0-9])_(?=[0-9])/g, '');
  if (hexadecimal) return parseHexadecimal(plain);
  return DECIMAL.test(plain) ? Number(plain) : undefined;
}

function parseHexadecimal(text: string): number | undefined {
  const found = HEXADECIMAL.exec(text);
  if (found === null) return undefined;
  const [, sign = '', whole = '', fraction = '', power = ''] = found;
  const digits = `${whole}${fraction}`;
  if (digits === '') return undefined;
  const size = scale(BigInt(`0x${digits}`), Number(power) - fraction.length * 4);
  return sign === '-' ? -size : size;
}

/** Returns mantissa × 2^power, rounded once, half to even. */
function scale(mantissa: bigint, power: number): number {
  if (mantissa === 0n) return 0;
  const bits = mantissa.toString(2).length;
  if (bits + power > 1024) return Infinity;
  if (bits + power < -1100) return 0;
  if (power >= 0) return Number(mantissa << BigInt(power));
  // The lowest bit of a float that is not zero is 2^-1074.
  const kept = Math.min(53, bits + power + 1074);
  if (kept < 0) return 0;
  const dropped = Math.max(bits - kept, 0);
  return Number(roundShift(mantissa, BigInt(dropped))) * 2 ** (power + dropped);
}

function roundShift(value: bigint, bits: bigint): bigint {
  if (bits === 0n) return value;
  const quotient = value >> bits;
  const rest = value - (quotient << bits);
  const half = 1n << (bits - 1n);
  return rest > half || (rest === half && (quotient & 1n) === 1n) ? quotient + 1n : quotient;
}
