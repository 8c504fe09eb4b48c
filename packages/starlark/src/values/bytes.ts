import { bytesKey } from './key-text.js';
import { quoteBytes } from './repr.js';
import { compareBytes } from './string.js';
import { HeapValue, type Key, type ReprWriter } from './value.js';

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

  override hashKey(): Key {
    let text = '';
    for (const byte of this.value) text += String.fromCharCode(byte);
    return bytesKey(text);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(quoteBytes(this.value));
  }

  override equalTo(other: HeapValue): boolean {
    return compareBytes(this.value, (other as Bytes).value) === 0;
  }

  override compareTo(other: HeapValue): number {
    return compareBytes(this.value, (other as Bytes).value);
  }
}
