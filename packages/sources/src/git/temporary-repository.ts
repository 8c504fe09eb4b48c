import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { tooLargeFailure } from '../failure.js';

const PREFIX = 'krmhub-git-';

/** A temporary folder for one bare repository, with a size limit. */
export class TemporaryRepository {
  readonly folder: string;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #checking: Promise<void> | undefined;

  private constructor(folder: string, what: string, maxBytes: number, everyMilliseconds: number) {
    this.folder = folder;
    this.#timer = setInterval(() => {
      this.#checking ??= this.#checkSize(what, maxBytes).finally(() => (this.#checking = undefined));
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

  /** Aborted with a SourceFailure if the folder is too large. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Call it after all writers have ended. */
  async remove(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #checkSize(what: string, maxBytes: number): Promise<void> {
    // A folder that changes during the check is checked again later.
    const size = await folderSize(this.folder).catch(() => 0);
    if (size > maxBytes) this.#controller.abort(tooLargeFailure(what, maxBytes));
  }
}

async function folderSize(folder: string): Promise<number> {
  let size = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    // git creates and deletes files during the check.
    const status = await lstat(path.join(entry.parentPath, entry.name)).catch(() => undefined);
    size += status?.size ?? 0;
  }
  return size;
}
