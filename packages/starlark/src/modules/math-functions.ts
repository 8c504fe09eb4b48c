/** Functions that JavaScript's Math does not have, or whose special cases differ from IEEE 754. */

/** IEEE 754, section 9.2.1: 1 to any power is 1, and so is -1 to an infinite one. */
export function pow(x: number, y: number): number {
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return x ** y;
}

/** Rounds half away from zero. */
export function roundHalfAway(x: number): number {
  const whole = Math.trunc(x);
  return Math.abs(x - whole) >= 0.5 ? whole + Math.sign(x) : whole;
}

/** Returns x − n·y for the integer n nearest to x/y, the even one of two (IEEE 754, section 5.3.1). */
export function remainder(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y) || Math.abs(x) === Infinity || y === 0) return Number.NaN;
  if (Math.abs(y) === Infinity) return x;
  const divisor = Math.abs(y);
  // The rest of a division by 2·divisor tells whether the quotient is even, and is exact.
  const even = divisor <= Number.MAX_VALUE / 2 ? Math.abs(x) % (2 * divisor) : Math.abs(x);
  let rest = even;
  const half = divisor / 2;
  if (divisor < 2 ** -1021) {
    if (rest + rest > divisor) {
      rest -= divisor;
      if (rest + rest >= divisor) rest -= divisor;
    }
  } else if (rest > half) {
    rest -= divisor;
    if (rest >= half) rest -= divisor;
  }
  return x < 0 || Object.is(x, -0) ? -rest : rest;
}

/** Coefficients of Lanczos' approximation for g = 7 with 9 terms. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** The gamma function: exact products for integers, else Lanczos' approximation to about 15 digits. */
export function gamma(x: number): number {
  if (x === -Infinity || (x < 0 && Number.isInteger(x))) return Number.NaN;
  if (x === 0) return Object.is(x, -0) ? -Infinity : Infinity;
  if (Number.isNaN(x) || x > 171.7) return Number.isNaN(x) ? x : Infinity;
  if (Number.isInteger(x)) {
    let product = 1;
    for (let factor = 2; factor < x; factor++) product *= factor;
    return product;
  }
  // The reflection formula.
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * gamma(1 - x));
  let sum = LANCZOS[0] as number;
  for (let term = 1; term < LANCZOS.length; term++) sum += (LANCZOS[term] as number) / (x - 1 + term);
  const t = x + 6.5;
  // The power is split: alone it overflows before the product does.
  const root = t ** ((x - 0.5) / 2);
  return Math.sqrt(2 * Math.PI) * root * Math.exp(-t) * root * sum;
}
