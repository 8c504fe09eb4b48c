import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const compress = promisify(brotliCompress);

/** Size up to which the best brotli quality is used: it takes a second per mebibyte, quality 5 takes 20 ms. */
const BEST_BYTES = 131_072;

/** Compresses a small document, outside of the main thread. brotli streams cannot be joined. */
export async function brotliDocument(bytes: Uint8Array): Promise<Uint8Array> {
  return compress(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: bytes.byteLength <= BEST_BYTES ? 11 : 5,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
    },
  });
}
