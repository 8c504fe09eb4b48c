import { randomBytes } from 'node:crypto';
import { crc32, gunzipSync, inflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { deflateSegment, GZIP_HEADER, gzipTrailer, joinTexts, storedBlocks } from './gzip.js';

const stored = (bytes: Uint8Array, final: boolean) => storedBlocks(bytes, { final });

it('joins segments and stored text into one member', async () => {
  const head = Buffer.from('head\n');
  const texts = [Buffer.from('one '.repeat(10_000)), randomBytes(100_000), Buffer.from('')];
  const plain = Buffer.concat([head, ...texts, Buffer.from('end')]);
  const member = Buffer.concat([
    GZIP_HEADER,
    stored(head, false),
    ...(await Promise.all(texts.map((text) => deflateSegment(text)))),
    stored(Buffer.from('end'), true),
    gzipTrailer({ bytes: plain.byteLength, crc32: crc32(plain) }),
  ]);
  expect(gunzipSync(member).equals(plain)).toBe(true);
  // A second member would be ignored by browsers.
  expect(inflateRawSync(member.subarray(GZIP_HEADER.byteLength)).equals(plain)).toBe(true);
});

it.each([0, 1, 65_535, 65_536, 200_000])('stores %i bytes in blocks', (size) => {
  const bytes = randomBytes(size);
  expect(inflateRawSync(stored(bytes, true)).equals(bytes)).toBe(true);
  const open = Buffer.concat([stored(bytes, false), stored(new Uint8Array(), true)]);
  expect(inflateRawSync(open).equals(bytes)).toBe(true);
  expect(stored(bytes, false).byteLength).toBe(size + 5 * Math.ceil(size / 65_535));
});

it('writes sizes modulo four gigabytes', () => {
  const trailer = gzipTrailer({ bytes: 2 ** 33 + 7, crc32: 0xfedcba98 });
  expect([...trailer]).toEqual([0x98, 0xba, 0xdc, 0xfe, 7, 0, 0, 0]);
});

it('joins texts with the text between them', () => {
  const texts = ['a', 'b', 'c'].map((text) => Buffer.from(text));
  expect(String(joinTexts(texts, Buffer.from(', ')))).toBe('a, b, c');
  expect(String(joinTexts(texts, new Uint8Array()))).toBe('abc');
  expect(joinTexts([], Buffer.from(','))).toHaveLength(0);
});
