import { KrmhubError } from '@krmhub/schema/error';

/**
 * Decodes UTF-8; a byte order mark stays. Throws `invalid-document` with the line for anything else, which would be
 * lost (KRM Functions Specification v1: "MUST use utf8").
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new KrmhubError(
      'invalid-document',
      `cannot read ${name}: line ${lineOf(bytes)}: it is not UTF-8 text`,
    );
  }
}

/** The line of the first byte that is not UTF-8. */
function lineOf(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const end = bytes.indexOf(0x0a, start) + 1 || bytes.length;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, end));
    } catch {
      break;
    }
    start = end;
  }
  return line;
}
