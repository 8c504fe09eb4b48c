/** Bytes from `start` up to and without `end`. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The one range that a Range header asks for of so many bytes (RFC 9110, 14.1.2). Undefined for none and for what may
 * be ignored: other units, several ranges, nonsense; `unsatisfiable` beyond the end.
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
  // RFC 9110 would have it ignored; the conformance suite of distribution-spec wants a refusal.
  if (last !== '' && Number(last) < start) return 'unsatisfiable';
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

/** The Content-Range of a chunk of an upload: `START-END`, both included, without a unit; undefined where it is none. */
export function readChunkRange(header: string): ByteRange | undefined {
  const match = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d{1,15}|\*))?$/.exec(header.trim());
  if (match === null || Number(match[2]) < Number(match[1])) return undefined;
  return { start: Number(match[1]), end: Number(match[2]) + 1 };
}
