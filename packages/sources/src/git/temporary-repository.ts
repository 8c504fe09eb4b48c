import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { tooLarge } from '../failure.js';

const PREFIX = 'krmhub-git-';

/**
 * Removes what fetches left behind that a process was killed in. For who has the folder to itself, before the first
 * fetch.
 */
export async function clearLeftovers(temporaryFolder: string): Promise<void> {
  const names = await readdir(temporaryFolder).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names.filter((one) => one.startsWith(PREFIX))) {
    await rm(path.join(temporaryFolder, name), { recursive: true, force: true });
  }
}

/** A folder for one bare repository, watched while it grows. */
export class TemporaryRepository {
  readonly folder: string;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | undefined;

  private constructor(folder: string, what: string, maxBytes: number, everyMilliseconds: number) {
    this.folder = folder;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(what, maxBytes).finally(() => (this.#looking = undefined));
    }, everyMilliseconds);
  }

  static async create(
    below: string,
    { what, maxBytes, everyMilliseconds }: { what: string; maxBytes: number; everyMilliseconds: number },
  ): Promise<TemporaryRepository> {
    await mkdir(below, { recursive: true });
    return new TemporaryRepository(
      await mkdtemp(path.join(below, PREFIX)),
      what,
      maxBytes,
      everyMilliseconds,
    );
  }

  /** Aborted with a SourceFailure when it is too large. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** To be called when nothing writes to it any more. */
  async remove(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #look(what: string, maxBytes: number): Promise<void> {
    // A folder that changes meanwhile is looked at again.
    const size = await sizeOf(this.folder).catch(() => 0);
    if (size > maxBytes) this.#controller.abort(tooLarge(what, maxBytes));
  }
}

async function sizeOf(folder: string): Promise<number> {
  let size = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // Files come and go while git works.
    const status = await lstat(path.join(entry.parentPath, entry.name)).catch(() => undefined);
    size += status?.size ?? 0;
  }
  return size;
}
