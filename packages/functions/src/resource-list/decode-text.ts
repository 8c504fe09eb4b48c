import { KrmhubError } from '@krmhub/schema/error';

/**
 * Decodes UTF-8; a byte order mark stays. Throws `invalid-document` with the place of anything else, which would be lost
 * (KRM Functions Specification v1: "MUST use utf8").
 */
export function decodeText(bytes: Uint8Array, name: string, { isFile = false } = {}): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const lines = new TextDecoder().decode(bytes).split('\ufffd', 1)[0]!.split('\n');
    const place = isFile ? `:${lines.length}:${lines.at(-1)!.length + 1}` : `: line ${lines.length}`;
    throw new KrmhubError('invalid-document', `cannot read ${name}${place}: it is not UTF-8 text`);
  }
}
