import type { Position, Range } from '../diagnostic.js';
import { lineOf } from '../line-of.js';

/** A text with line numbers, which are computed on first use. */
export class SourceText {
  readonly text: string;
  private lineStarts: number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  position(offset: number): Position {
    this.lineStarts ??= lineStarts(this.text);
    const line = lineOf(this.lineStarts, offset);
    return { line: line + 1, column: offset - this.lineStarts[line]! + 1 };
  }

  range(start: number, end: number): Range {
    const last = this.text.length;
    const from = Math.min(Math.max(start, 0), last);
    return { start: this.position(from), end: this.position(Math.min(Math.max(end, from), last)) };
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let next = text.indexOf('\n'); next !== -1; next = text.indexOf('\n', next + 1)) starts.push(next + 1);
  return starts;
}

export type Decoded =
  | { text: string }
  | { problem: 'utf-16' }
  | { problem: 'not-utf-8'; byte: number; before: string };

/**
 * Decodes strict UTF-8 with an optional byte order mark. `byte` is the offset of the first error, and `before` is the
 * text before it.
 */
export function decodeUtf8(input: Uint8Array): Decoded {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(input) };
  } catch {
    const [first, second] = input;
    if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
      return { problem: 'utf-16' };
    return { problem: 'not-utf-8', ...firstInvalid(input) };
  }
}

const REPLACEMENT = '\ufffd';

function firstInvalid(input: Uint8Array): { byte: number; before: string } {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
  let byte = 0;
  let from = 0;
  for (let at = text.indexOf(REPLACEMENT); at !== -1; at = text.indexOf(REPLACEMENT, from)) {
    byte += Buffer.byteLength(text.slice(from, at));
    // The file can contain the replacement character itself.
    const written = input[byte] === 0xef && input[byte + 1] === 0xbf && input[byte + 2] === 0xbd;
    if (!written) return { byte, before: text.slice(0, at) };
    byte += 3;
    from = at + 1;
  }
  return { byte, before: text };
}

/**
 * Control characters that YAML forbids, and YAML 1.1 line breaks that are text in YAML 1.2: NEL, LS, PS, and a single
 * carriage return.
 */
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)/;

export function findForbiddenCharacter(text: string): { offset: number; name: string } | undefined {
  const offset = text.search(FORBIDDEN);
  if (offset === -1) return undefined;
  const code = text.charCodeAt(offset).toString(16).toUpperCase().padStart(4, '0');
  return { offset, name: `U+${code}` };
}
