/** Bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * Parses a Range header with one range (RFC 9110, 14.1.2) for content of `size` bytes. Returns undefined for headers
 * that may be ignored: other units, several ranges, invalid syntax.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  // RFC 9110 ignores it; the conformance suite of distribution-spec expects an error.
  if (last !== '' && Number(last) < start) return 'unsatisfiable';
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

/** Parses the Content-Range of an upload chunk: `START-END`, both inclusive. Returns undefined for invalid text. */
export function readChunkRange(header: string): ByteRange | undefined {
  const match = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d{1,15}|\*))?$/.exec(header.trim());
  if (match === null || Number(match[2]) < Number(match[1])) return undefined;
  return { start: Number(match[1]), end: Number(match[2]) + 1 };
}
