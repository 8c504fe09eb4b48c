import type { BlobWriter } from '@krmhub/catalog';
import { SERVER_LIMITS } from '../../limits.js';

/** Joins small texts before they are written, and writes one piece while the next is prepared. */
export class PieceWriter {
  readonly #writer: BlobWriter;
  #text = '';
  #last: Promise<void> = Promise.resolve();
  size = 0;

  constructor(writer: BlobWriter) {
    this.#writer = writer;
  }

  async write(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= SERVER_LIMITS.profilePieceCharacters) await this.#begin();
  }

  /** Resolves once everything is written. */
  async flush(): Promise<void> {
    await this.#begin();
    await this.#last;
  }

  async #begin(): Promise<void> {
    if (this.#text === '') return;
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.size += bytes.byteLength;
    await this.#last;
    this.#last = this.#writer.write(bytes);
    // The next write or flush reports the error.
    this.#last.catch(() => undefined);
  }
}
