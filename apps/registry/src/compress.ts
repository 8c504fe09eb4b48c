import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Coding } from './content-coding.js';

const gzipAsync = promisify(gzip);
const brotliAsync = promisify(brotliCompress);

/** Bytes up to which the best brotli is worth its time: a second for a mebibyte, where 5 takes 20 ms. */
const BEST_BROTLI_BYTES = 131_072;

/** The bytes in a coding, made outside the main thread. */
export async function compress(bytes: Uint8Array, coding: Coding): Promise<Uint8Array> {
  if (coding === 'identity') return bytes;
  if (coding === 'gzip') return gzipAsync(bytes, { level: 6 });
  return brotliAsync(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: bytes.byteLength <= BEST_BROTLI_BYTES ? 11 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
    },
  });
}
