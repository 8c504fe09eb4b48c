import { KrmhubError } from '@krmhub/schema';
import type { PieceStore } from '../store/blobs/s3/pieces.js';

/** Pieces in memory; a name is used once. */
export class TestPieces implements PieceStore {
  readonly pieces = new Map<string, { bytes: Uint8Array; written: Date }>();
  readonly clock: () => Date;
  /** Names that were read. */
  reads: string[] = [];
  /** Whether pieces can be read. */
  isReachable = true;

  constructor(clock: () => Date = () => new Date()) {
    this.clock = clock;
  }
  async put(name: string, bytes: Uint8Array): Promise<void> {
    if (this.pieces.has(name)) throw new Error(`${name} exists`);
    this.pieces.set(name, { bytes: Uint8Array.from(bytes), written: this.clock() });
  }
  async *read(name: string): AsyncIterable<Uint8Array> {
    this.reads.push(name);
    if (!this.isReachable) throw new KrmhubError('unavailable', 'the store cannot be reached');
    const { bytes } = this.pieces.get(name) ?? {};
    if (bytes === undefined) throw new KrmhubError('unavailable', 'a piece is missing');
    yield bytes.subarray(0, 3);
    yield bytes.subarray(3);
  }
  async delete(name: string): Promise<void> {
    this.pieces.delete(name);
  }
  async *list(): AsyncIterable<{ name: string; written: Date }> {
    for (const [name, { written }] of this.pieces) yield { name, written };
  }
}
