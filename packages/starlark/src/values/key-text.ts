import { EvaluationError } from './evaluation-error.js';
import { valueKey } from './key.js';
import type { Thread } from './thread.js';
import { HeapValue, type Value } from './value.js';

/** No Starlark string contains this lone surrogate, so the key of a composite value never equals a string's. */
const MARK = '\ud800';
const MAX_KEY_LENGTH = 1024 * 1024;
const MAX_KEY_DEPTH = 200;
/** The memory of keys up to this length is counted with the entry. */
const UNCOUNTED = 64;

let identities = 0;
const identityNumbers = new WeakMap<HeapValue, number>();
let depth = 0;

/** Returns a number that only this object has. */
function identityNumber(value: HeapValue): number {
  let number = identityNumbers.get(value);
  if (number === undefined) {
    number = ++identities;
    identityNumbers.set(value, number);
  }
  return number;
}

/** Returns the key of a composite value: equal kinds and equal parts give the same text, and only these. */
export function compositeKey(kind: string, parts: readonly Value[], thread?: Thread): string {
  // Pairs of small ints are frequent: coordinates.
  if (parts.length === 2 && typeof parts[0] === 'number' && typeof parts[1] === 'number') {
    return `${MARK}${kind}2:n${parts[0]};n${parts[1]};`;
  }
  depth++;
  try {
    if (depth > MAX_KEY_DEPTH) throw new EvaluationError('value is nested too deeply to hash');
    let text = `${MARK}${kind}${parts.length}:`;
    for (const part of parts) {
      text += partText(part, thread);
      if (text.length > MAX_KEY_LENGTH) throw new EvaluationError('value is too large to hash');
    }
    if (text.length > UNCOUNTED) count(text, thread);
    return text;
  } finally {
    depth--;
  }
}

/** Returns the key of a sequence of bytes. */
export function bytesKey(latin1: string, thread?: Thread): string {
  if (latin1.length > UNCOUNTED) count(latin1, thread);
  return `${MARK}b${latin1}`;
}

/** The text is new, and a dict or set that takes the key keeps it. */
function count(text: string, thread: Thread | undefined): void {
  thread?.step(text.length >> 3);
  thread?.allocate(text.length);
}

function partText(part: Value, thread: Thread | undefined): string {
  if (typeof part === 'string') return `s${part.length}:${part}`;
  if (typeof part === 'number') return `n${part};`;
  const key = valueKey(part, thread);
  if (typeof key === 'string') return `c${key.length}:${key}`;
  if (typeof key === 'number' || typeof key === 'bigint') return `n${key};`;
  if (key instanceof HeapValue) return `o${identityNumber(key)};`;
  return `${key};`;
}
