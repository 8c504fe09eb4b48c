const CONSTRUCTED = 0x20;
const OCTET_STRING = 0x04;

/**
 * Reports whether DER values (X.690) are nested deeper than `levels`. Octet strings count too, because the sigstore
 * library parses their content. Invalid DER returns false: the library rejects it before anything else.
 */
export function exceedsDepth(bytes: Uint8Array, levels: number, start = 0, end = bytes.length): boolean {
  for (let at = start; at + 2 <= end; ) {
    const tag = bytes[at]!;
    let length = bytes[at + 1]!;
    at += 2;
    if (length >= 0x80) {
      const count = length - 0x80;
      if (count > 6 || at + count > end) return false;
      length = 0;
      for (let one = 0; one < count; one++) length = length * 256 + bytes[at + one]!;
      at += count;
    }
    if (at + length > end) return false;
    if ((tag & CONSTRUCTED) !== 0 || tag === OCTET_STRING) {
      if (levels === 0 || exceedsDepth(bytes, levels - 1, at, at + length)) return true;
    }
    at += length;
  }
  return false;
}
