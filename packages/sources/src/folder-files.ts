import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { type SourceFile, writeSourceFiles } from '@krmhub/schema/documents/source-files';
import type { FolderRequest } from './context.js';
import { SourceFailure } from './failure.js';
import type { SourceLimits } from './limits.js';

const SMALLER =
  'Read only the folders of the functions: add them after // in the URL, or list them in `paths`.';

/** Reports whether a file of a folder is read: YAML and JSON, and nothing in hidden folders. */
export function isReadFile(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path) && !path.split('/').some((part) => part.startsWith('.'));
}

/** Returns the files that are read: those with the names of their format if there are any. */
export function chooseFiles<File extends { path: string }>(
  listed: readonly File[],
  { names }: FolderRequest,
): File[] {
  const all = listed.filter(({ path }) => isReadFile(path));
  const named = names === undefined ? [] : all.filter(({ path }) => names.test(path.split('/').at(-1)!));
  return named.length === 0 ? all : named;
}

/** Joins the folder of an address with the folders that a recipe lists. */
export function joinPaths(folder: string, { paths = [''] }: FolderRequest): string[] {
  return paths.map((one) => [folder, one].filter((part) => part !== '').join('/'));
}

/** Identifies what is read of a folder, so that another selection is not taken for an unchanged one. */
export function selectionKey({ paths, names }: FolderRequest): Record<string, string> {
  return paths === undefined && names === undefined
    ? {}
    : { selection: sha256(JSON.stringify([paths ?? [], names?.source ?? ''])) };
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
    const { maxFolderFileBytes, maxCatalogBytes } = this.#limits;
    this.#count += 1;
    this.checkCount(this.#count);
    if (size > maxFolderFileBytes) {
      this.#files.push({
        path,
        ...defined({ release }),
        problem: `it has ${size} bytes; the limit is ${maxFolderFileBytes}`,
      });
      return false;
    }
    this.#bytes += size;
    if (this.#bytes > maxCatalogBytes) throw this.#tooLarge();
    return true;
  }

  /** Rejects a folder with too many files. */
  checkCount(count: number): void {
    const { maxFolderFiles } = this.#limits;
    if (count <= maxFolderFiles) return;
    throw new SourceFailure(
      'too-large',
      `${this.#what} has more than ${maxFolderFiles} YAML and JSON files`,
      { hint: SMALLER },
    );
  }

  #tooLarge(): SourceFailure {
    const { maxCatalogBytes } = this.#limits;
    const message = `the YAML and JSON files of ${this.#what} are larger than ${maxCatalogBytes} bytes`;
    return new SourceFailure('too-large', message, { hint: SMALLER });
  }

  /** `isRemoved` marks a file that the newest commit does not have. */
  add(path: string, bytes: Uint8Array, release?: string, isRemoved = false): void {
    const at = {
      path,
      ...defined({ release, removed: isRemoved ? (true as const) : undefined }),
    };
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
    if (bytes.byteLength > this.#limits.maxCatalogBytes) throw this.#tooLarge();
    return bytes;
  }
}
