import { EvaluationError } from './evaluation-error.js';
import { bytesKey } from './key-text.js';
import { quoteBytes } from './repr.js';
import { indexOfPart } from './search.js';
import { sliceLength } from './sequence.js';
import { compareBytes } from './string.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type ReprWriter, typeName, type Value } from './value.js';

/** Memory that bytes take in addition to their content. */
const BYTES_OVERHEAD = 64;

/** Immutable bytes. */
export class Bytes extends HeapValue {
  /** Takes the array over, without copying. */
  constructor(readonly value: Uint8Array) {
    super();
  }

  override get typeName(): string {
    return 'bytes';
  }

  override truth(): boolean {
    return this.value.length > 0;
  }

  override length(): number {
    return this.value.length;
  }

  override at(index: number, thread?: Thread): Value | undefined {
    thread?.allocate(BYTES_OVERHEAD);
    return new Bytes(this.value.slice(index, index + 1));
  }

  override slice(start: number, end: number, step: number, thread: Thread | undefined): Bytes {
    const size = sliceLength(start, end, step);
    thread?.allocate(BYTES_OVERHEAD + size);
    thread?.step(size >> 6);
    return new Bytes(sliceBytes(this.value, start, end, step));
  }

  override contains(element: Value, thread: Thread | undefined): boolean {
    thread?.step(this.value.length);
    if (element instanceof Bytes) return indexOfBytes(this.value, element.value, thread) >= 0;
    if (typeof element === 'number' && element >= 0 && element <= 255) return this.value.includes(element);
    if (typeof element === 'number' || typeof element === 'bigint') {
      throw new EvaluationError(`int in bytes: ${element} out of range`);
    }
    const type = typeName(element);
    throw new EvaluationError(`'in bytes' requires bytes or int as left operand, not ${type}`);
  }

  override hashKey(thread?: Thread): Key {
    return bytesKey(latin1(this.value), thread);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(quoteBytes(this.value));
  }

  override equalTo(other: HeapValue, thread: Thread | undefined): boolean {
    if ((other as Bytes).value.length !== this.value.length) return false;
    thread?.step(this.value.length >> 4);
    return compareBytes(this.value, (other as Bytes).value) === 0;
  }

  override compareTo(other: HeapValue, thread: Thread | undefined): number {
    thread?.step(Math.min(this.value.length, (other as Bytes).value.length) >> 4);
    return compareBytes(this.value, (other as Bytes).value);
  }
}

/** Returns a copy of every `step`th byte from `start` to before `end`, all in range. */
export function sliceBytes(bytes: Uint8Array, start: number, end: number, step: number): Uint8Array {
  if (step === 1) return bytes.slice(start, end);
  const result = new Uint8Array(sliceLength(start, end, step));
  for (let i = 0; i < result.length; i++) result[i] = bytes[start + i * step]!;
  return result;
}

/** Returns where `part` first occurs in `bytes`, or -1. */
export function indexOfBytes(bytes: Uint8Array, part: Uint8Array, thread?: Thread): number {
  // One character for each byte: the engine's own search is faster than a loop.
  return part.length > bytes.length ? -1 : indexOfPart(latin1(bytes), latin1(part), 0, thread);
}

function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return text;
}
