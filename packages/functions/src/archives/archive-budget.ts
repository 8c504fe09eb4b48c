import { badArchive } from './entry-path.js';
import type { ExecutableLimits } from './limits.js';

/** Counts what an archive unpacks to, and throws at the first byte or entry too many. */
export class ArchiveBudget {
  readonly #archiveBytes: number;
  readonly #limits: ExecutableLimits;
  #bytes = 0;
  #entries = 0;

  constructor(archiveBytes: number, limits: ExecutableLimits) {
    this.#archiveBytes = archiveBytes;
    this.#limits = limits;
  }

  addBytes(count: number): void {
    const { maxUnpackedBytes, maxRatio } = this.#limits;
    this.#bytes += count;
    if (this.#bytes > maxUnpackedBytes)
      throw badArchive(`it has more than ${maxUnpackedBytes} bytes of content`);
    if (this.#bytes > this.#archiveBytes * maxRatio) {
      throw badArchive(`its content is more than ${maxRatio} times as large as the archive`);
    }
  }

  addEntry(): void {
    const { maxEntries } = this.#limits;
    if (++this.#entries > maxEntries) throw badArchive(`it has more than ${maxEntries} entries`);
  }
}
