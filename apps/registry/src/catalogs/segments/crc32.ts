/** The polynomial of CRC-32, the lowest power first. */
const POLYNOMIAL = 0xedb88320;
/** 1 and x^8 in the same order of bits. */
const ONE = 0x80000000;
const ONE_BYTE = 0x00800000;

/**
 * Returns the CRC-32 of two texts that follow each other, from the CRC-32 of each and the size of the second: zeros
 * after a text multiply its CRC by a power of x, and sums of texts have the sum of the CRCs.
 */
export function joinedCrc32(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfBytes(secondBytes), first) ^ second) >>> 0;
}

/** Returns x^(8 * bytes) modulo the polynomial. */
function powerOfBytes(bytes: number): number {
  let power = ONE;
  let square = ONE_BYTE;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(power, square);
    square = multiply(square, square);
  }
  return power;
}

/** Multiplies two polynomials modulo the one of CRC-32. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted;
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ POLYNOMIAL;
  }
  return product >>> 0;
}
