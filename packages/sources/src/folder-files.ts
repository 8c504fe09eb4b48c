import { type SourceFile, writeSourceFiles } from '@krmhub/schema/documents/source-files';
import { SourceFailure, tooLargeFailure } from './failure.js';
import type { SourceLimits } from './limits.js';

/** Reports whether a file of a folder is read: YAML and JSON, and nothing in hidden folders. */
export function isReadFile(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path) && !path.split('/').some((part) => part.startsWith('.'));
}

/** Collects the files of a folder as one document, under the limits of a catalog. */
export class FolderFiles {
  readonly #files: SourceFile[] = [];
  readonly #what: string;
  readonly #limits: SourceLimits;
  #count = 0;
  #bytes = 0;

  /** `what` names the folder in messages. */
  constructor(what: string, limits: SourceLimits) {
    this.#what = what;
    this.#limits = limits;
  }

  /** Rejects a file before it is read, if there are too many or if it is too large. Returns whether to read it. */
  accepts(path: string, size: number, release?: string): boolean {
    const { maxFolderFiles, maxFolderFileBytes, maxCatalogBytes } = this.#limits;
    this.#count += 1;
    if (this.#count > maxFolderFiles) {
      throw new SourceFailure(
        'too-large',
        `${this.#what} has more than ${maxFolderFiles} YAML and JSON files`,
        {
          hint: 'Use a subfolder in the URL.',
        },
      );
    }
    if (size > maxFolderFileBytes) {
      this.#files.push({
        path,
        ...(release === undefined ? {} : { release }),
        problem: `it has ${size} bytes; the limit is ${maxFolderFileBytes}`,
      });
      return false;
    }
    this.#bytes += size;
    if (this.#bytes > maxCatalogBytes) throw tooLargeFailure(this.#what, maxCatalogBytes);
    return true;
  }

  add(path: string, bytes: Uint8Array, release?: string): void {
    const at = { path, ...(release === undefined ? {} : { release }) };
    try {
      this.#files.push({ ...at, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) });
    } catch {
      this.#files.push({ ...at, problem: 'it is not UTF-8' });
    }
  }

  /** Rejects an empty folder: it is more likely a wrong path than a vendor without functions. */
  bytes(): Uint8Array {
    if (this.#files.length === 0) {
      throw new SourceFailure('not-found', `${this.#what} has no YAML or JSON files`, {
        hint: 'Check the folder in the URL.',
      });
    }
    const bytes = writeSourceFiles(this.#files);
    if (bytes.byteLength > this.#limits.maxCatalogBytes)
      throw tooLargeFailure(this.#what, this.#limits.maxCatalogBytes);
    return bytes;
  }
}
