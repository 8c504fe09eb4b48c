import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { joinedCrc32 } from './crc32.js';

/** Bytes that look random, and are the same in every run. */
function bytes(length: number): Buffer {
  return createHash('shake256', { outputLength: Math.max(length, 1) })
    .update(`${length} bytes`)
    .digest()
    .subarray(0, length);
}

it.each([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
  [3, 255],
  [70_000, 65_536],
  [9, 1_234_567],
])('returns the CRC-32 of %i and %i bytes after each other', (first, second) => {
  const [one, other] = [bytes(first), bytes(second)];
  const joined = joinedCrc32(crc32(one), crc32(other), second);
  expect(joined).toBe(crc32(Buffer.concat([one, other])));
});
