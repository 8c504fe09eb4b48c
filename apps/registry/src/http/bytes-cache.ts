import { LRUCache } from 'lru-cache';

/** Bytes by name, or what holds bytes, at most so many; the least recently used goes first. */
export class BytesCache<Value extends { byteLength: number } = Uint8Array> extends LRUCache<string, Value> {
  constructor(maxBytes: number) {
    // LRUCache takes 0 for no limit, and refuses a size of 0.
    super({ maxSize: Math.max(maxBytes, 1), sizeCalculation: ({ byteLength }) => Math.max(byteLength, 1) });
  }
}
