/** The letters of the conversions of a float: scientific, fixed, and the shorter of the two. */
export type FloatConversion = 'e' | 'f' | 'g' | 'E' | 'F' | 'G';

/** Digits after the point that `e` and `f` print. */
const PRECISION = 6;

/**
 * Prints a float as `str` does: the shortest decimal that gives the same float, with a point or an exponent, so that it
 * cannot be taken for an int.
 */
export function printFloat(value: number): string {
  return formatFloat(value, 'g');
}

/** Prints a float as the operator `%` does. `e` and `f` round to 6 digits, half to even. */
export function formatFloat(value: number, conversion: FloatConversion): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? '+inf' : '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  const form = conversion.toLowerCase();
  const text = sign + (form === 'g' ? shortest(size) : form === 'f' ? fixed(size) : scientific(size));
  return form === conversion ? text : text.toUpperCase();
}

function shortest(size: number): string {
  const [mantissa = '', power = ''] = size.toExponential().split('e');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 6) return `${mantissa}e${exponentText(exponent)}`;
  const text = size.toString();
  return text.includes('.') ? text : `${text}.0`;
}

/** At least two digits, with a sign. */
function exponentText(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function fixed(size: number): string {
  const digits = roundedTimes(size, PRECISION)
    .toString()
    .padStart(PRECISION + 1, '0');
  return `${digits.slice(0, -PRECISION)}.${digits.slice(-PRECISION)}`;
}

function scientific(size: number): string {
  if (size === 0) return `0.${'0'.repeat(PRECISION)}e+00`;
  let exponent = Number(size.toExponential().split('e')[1]);
  let digits = roundedTimes(size, PRECISION - exponent).toString();
  if (digits.length > PRECISION + 1) {
    exponent++;
    digits = digits.slice(0, PRECISION + 1);
  }
  return `${digits.slice(0, 1)}.${digits.slice(1)}e${exponentText(exponent)}`;
}

/** Returns size × 10^power as an integer, rounded half to even from the exact value. */
function roundedTimes(size: number, power: number): bigint {
  const [numerator, denominator] = exactFraction(size);
  const up = power > 0 ? 10n ** BigInt(power) : 1n;
  const down = (power < 0 ? 10n ** BigInt(-power) : 1n) * denominator;
  const scaled = numerator * up;
  const quotient = scaled / down;
  const twice = (scaled - quotient * down) * 2n;
  return twice > down || (twice === down && (quotient & 1n) === 1n) ? quotient + 1n : quotient;
}

/** Returns numerator and denominator of a float that is finite and at least 0. */
function exactFraction(size: number): [bigint, bigint] {
  let numerator = size;
  let shift = 0;
  while (!Number.isInteger(numerator)) {
    numerator *= 2;
    shift++;
  }
  return [BigInt(numerator), 1n << BigInt(shift)];
}
