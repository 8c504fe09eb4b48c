import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { BUILD_LIMITS, type CopyLimits } from './limits.js';

/**
 * The copy of the user's files that kustomize reads. It has the same absolute paths below its root, so that relative
 * paths between folders work, and a message of kustomize turns into one about the user's file when the root is cut off.
 * It holds the folder of every layer and all below it, which is what kustomize may read by default. A link leads to the
 * copy of its target, or to the target itself where that is not copied: kustomize then refuses or reads it as it would
 * without us. Everything is planned first, so that nothing is ever written through a link.
 */

const SKIPPED = new Set(['.git']);
const PARALLEL = 8;

export class TreeCopy {
  readonly #root: string;
  readonly #limits: CopyLimits;
  readonly #regions: string[] = [];
  readonly #folders = new Set<string>();
  /** Files to copy, by their path. */
  readonly #files = new Set<string>();
  /** Real paths of the targets of links. */
  readonly #links = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  #bytes = 0;

  constructor(root: string, limits: CopyLimits = BUILD_LIMITS) {
    this.#root = root;
    this.#limits = limits;
  }

  /** Returns where a file of the user is in the copy. */
  at(file: string): string {
    return path.join(this.#root, path.relative(path.parse(file).root, file));
  }

  /** Plans a copy of a folder, given by its real path. */
  async addFolder(folder: string): Promise<void> {
    if (this.#includes(folder)) return;
    this.#regions.push(folder);
    try {
      await this.#walk(folder);
    } catch (error) {
      if (error instanceof KrmhubError) throw error;
      throw diskError(error, escapeControls(`cannot copy ${folder}`));
    }
  }

  /** Plans a file with a text of its own, instead of a copy. */
  addText(file: string, text: string): void {
    this.#texts.set(file, text);
    this.#addFolders(path.dirname(file));
  }

  /**
   * Plans a link for a path that is named but not copied, and for the links on the way to it. To be called after all
   * folders were added.
   */
  async addPath(named: string): Promise<void> {
    let current = path.parse(named).root;
    const parts = path.relative(current, named).split(path.sep);
    for (const [index, part] of parts.entries()) {
      const next = path.join(current, part);
      if (this.#includes(next)) return;
      const stats = await lstat(next).catch(() => undefined);
      if (stats === undefined) return;
      const isLast = index === parts.length - 1;
      if (!stats.isSymbolicLink() && (!isLast || this.#folders.has(next))) {
        this.#addFolders(next);
        current = next;
        continue;
      }
      const target = await realpath(next).catch(() => undefined);
      if (target === undefined) return;
      this.#links.set(next, target);
      if (!this.#isCopied(target)) return;
      current = target;
    }
  }

  /** Writes the copy. */
  async write(): Promise<void> {
    try {
      for (const folder of [...this.#folders].sort()) await makeFolder(this.at(folder));
      const files = [...this.#files].filter((file) => !this.#texts.has(file));
      await inParallel(files, (file) => copyOne(file, this.at(file)));
      for (const [file, text] of this.#texts) await writeFile(this.at(file), text, { mode: 0o600 });
      for (const [link, target] of this.#links) {
        const isTaken = this.#folders.has(link) || this.#texts.has(link);
        if (!isTaken) await symlink(this.#isCopied(target) ? this.at(target) : target, this.at(link));
      }
    } catch (error) {
      throw diskError(error, `cannot copy the files to ${this.#root}`);
    }
  }

  /** Returns a message of kustomize with the paths of the user. */
  mapPaths(message: string): string {
    return message.replaceAll(this.#root + path.sep, path.sep).replaceAll(this.#root, path.sep);
  }

  async #walk(region: string): Promise<void> {
    const folders = [region];
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      this.#addFolders(folder);
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        if (SKIPPED.has(entry.name)) continue;
        const file = path.join(folder, entry.name);
        if (entry.isDirectory()) {
          this.#count(region, 0);
          folders.push(file);
        } else if (entry.isFile()) {
          this.#count(region, (await lstat(file)).size);
          this.#files.add(file);
        } else if (entry.isSymbolicLink()) {
          this.#count(region, 0);
          // A link to nothing is nothing to kustomize.
          const target = await realpath(file).catch(() => undefined);
          if (target !== undefined) this.#links.set(file, target);
        }
      }
    }
  }

  #addFolders(folder: string): void {
    for (let one = folder; !this.#folders.has(one); one = path.dirname(one)) this.#folders.add(one);
  }

  #count(region: string, bytes: number): void {
    this.#bytes += bytes;
    const { maxCopiedFiles: maxFiles, maxCopiedBytes: maxBytes } = this.#limits;
    const tooMany = this.#files.size + this.#links.size >= maxFiles || this.#folders.size >= maxFiles;
    if (!tooMany && this.#bytes <= maxBytes) return;
    const most = tooMany ? `${maxFiles} files` : `${maxBytes / 1_048_576} MiB`;
    throw new KrmhubError('too-large', escapeControls(`cannot copy ${region}: more than ${most}`), {
      hint: 'Move the kustomization to a folder with only the required files.',
    });
  }

  #includes(file: string): boolean {
    return this.#regions.some((region) => isWithin(file, region));
  }

  /** Reports whether the copy has a path, itself or as a folder around what it has. */
  #isCopied(target: string): boolean {
    return this.#includes(target) || this.#folders.has(target) || this.#texts.has(target);
  }
}

export function isWithin(file: string, folder: string): boolean {
  const relative = path.relative(folder, file);
  return relative === '' || (!path.isAbsolute(relative) && relative.split(path.sep)[0] !== '..');
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function copyOne(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error;
    // Only a file that kustomize reads is a problem, and kustomize says so.
    await writeFile(to, '', { mode: 0 });
  });
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]!);
  };
  // A failure must not leave others at work in a folder that is being removed.
  const ended = await Promise.allSettled(Array.from({ length: PARALLEL }, worker));
  for (const result of ended) if (result.status === 'rejected') throw result.reason;
}
