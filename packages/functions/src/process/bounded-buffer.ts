/** The first bytes of a stream, up to a limit. */
export class BoundedBuffer {
  readonly #pieces: Buffer[] = [];
  readonly #maxBytes: number;
  #size = 0;
  #isTruncated = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether more bytes came than were stored. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  add(piece: Buffer): void {
    const room = this.#maxBytes - this.#size;
    if (piece.byteLength > room) this.#isTruncated = true;
    if (room <= 0) return;
    const stored = piece.subarray(0, room);
    this.#pieces.push(stored);
    this.#size += stored.byteLength;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces, this.#size);
  }
}
