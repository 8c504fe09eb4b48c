/** What a process writes to standard output while it runs scripts: pieces of what each script gives, in their order. */
export const FRAME = {
  /** Error output of the script. */
  stderr: 1,
  /** The ResourceList. */
  output: 2,
  /** The script has ended; the exit code. */
  end: 3,
  /** Before the end: the most bytes that the process has had while it ran the script, as decimal digits. */
  memory: 4,
} as const;

const HEAD_BYTES = 5;

/** Returns what is written before the bytes of a piece. */
export function frameHead(type: number, size: number): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head.writeUInt8(type, 0);
  head.writeUInt32BE(size, 1);
  return head;
}

/** Finds the pieces in a stream. */
export class FrameReader {
  readonly #onPiece: (type: number, piece: Buffer) => void;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headSize = 0;
  /** Bytes of the current piece that are missing. */
  #missing = 0;

  /** `onPiece` gets a piece in parts, as they come. */
  constructor(onPiece: (type: number, part: Buffer) => void) {
    this.#onPiece = onPiece;
  }

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.byteLength; ) {
      if (this.#missing === 0) {
        const count = bytes.copy(this.#head, this.#headSize, at, at + HEAD_BYTES - this.#headSize);
        this.#headSize += count;
        at += count;
        if (this.#headSize < HEAD_BYTES) return;
        this.#headSize = 0;
        this.#missing = this.#head.readUInt32BE(1);
        continue;
      }
      const part = bytes.subarray(at, at + this.#missing);
      this.#missing -= part.byteLength;
      at += part.byteLength;
      this.#onPiece(this.#head[0]!, part);
    }
  }
}
