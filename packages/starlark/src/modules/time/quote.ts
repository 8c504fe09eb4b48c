import { toByteString } from '../../builtins/byte-string.js';

/** Quotes a text for messages as Go's package time does: bytes that are not printable ASCII as `\\xNN`. */
export function quoteBytes(text: string): string {
  const escaped = toByteString(text).replace(/["\\]|[^ -~]/g, (char) => {
    const code = char.charCodeAt(0);
    return code === 0x22 || code === 0x5c ? `\\${char}` : `\\x${code.toString(16).padStart(2, '0')}`;
  });
  return `"${escaped}"`;
}
