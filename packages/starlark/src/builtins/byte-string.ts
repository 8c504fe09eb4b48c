import { EvaluationError } from '../values/evaluation-error.js';
import { decodeString, encodeString, isAscii } from '../values/string.js';
import type { Thread } from '../values/thread.js';

/** A longer string is an error, below the length at which JavaScript has one. */
const MAX_STRING_BYTES = 256 * 1024 * 1024;
/** Bytes of a string that take as long as one step. */
const BYTES_PER_STEP = 64;

/** Returns the bytes of a string as a byte string: one character per byte. ASCII is returned as it is. */
export function toByteString(text: string): string {
  return isAscii(text) ? text : toLatin1(encodeString(text));
}

/** Returns the string of a byte string. */
export function fromByteString(bytes: string): string {
  return isAscii(bytes) ? bytes : decodeString(Buffer.from(bytes, 'latin1'));
}

export function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

/** Counts the memory of a new string before it is made. */
export function allocateString(thread: Thread, bytes: number): void {
  if (bytes > MAX_STRING_BYTES) {
    throw new EvaluationError(`string too long: the limit is ${MAX_STRING_BYTES} bytes`, { limit: 'memory' });
  }
  thread.allocate(bytes);
  thread.step(bytes / BYTES_PER_STEP);
}

/** Counts the steps for reading a string. */
export function readString(thread: Thread, text: string): void {
  thread.step(1 + text.length / BYTES_PER_STEP);
}
