import { LRUCache } from 'lru-cache';

/** A cache of bytes, or of objects that contain bytes, with a size limit. Evicts the least recently used first. */
export class BytesCache<Value extends { byteLength: number } = Uint8Array> extends LRUCache<string, Value> {
  constructor(maxBytes: number) {
    // LRUCache reads 0 as no limit, and refuses a size of 0.
    super({ maxSize: Math.max(maxBytes, 1), sizeCalculation: ({ byteLength }) => Math.max(byteLength, 1) });
  }
}
