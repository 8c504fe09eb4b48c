import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { benchFile, root } from './built.js';
import type { Corpus } from './corpus.js';
import { runProcess } from './processes.js';
import { startServer, waitForBuild } from './server.js';
import { GENERATOR_VERSION } from './synthetic/definitions.js';
import type { Tools } from './tools.js';

/** How the first build of `default` went. */
export interface FirstBuild {
  /** Undefined if it did not finish in time. */
  seconds?: number;
  allowedSeconds: number;
}

export interface FilledFolder {
  folder: string;
  corpus: Corpus;
  firstBuild: FirstBuild;
}

/**
 * Data folders full of synthetic functions. Filling many takes minutes, so folders are cached between runs.
 * They are filled again if the tables, the published bytes or the catalogs' bytes would differ.
 */
export class Folders {
  readonly #base: string;
  readonly #tools: Tools;
  readonly #report: (text: string) => void;
  readonly #allowedSeconds: number;
  #copies = 0;

  constructor(parts: { base: string; tools: Tools; allowedSeconds: number; report(text: string): void }) {
    this.#base = parts.base;
    this.#tools = parts.tools;
    this.#report = parts.report;
    this.#allowedSeconds = parts.allowedSeconds;
  }

  /** A filled folder; copy it, never serve it. */
  async filled(functions: number): Promise<FilledFolder> {
    const folder = path.join(this.#base, `registry-${functions}-${fillKey()}`);
    if (!existsSync(folder)) await this.#fill(functions, folder);
    const json = async (name: string) => JSON.parse(await readFile(path.join(folder, name), 'utf8'));
    return {
      folder,
      corpus: (await json('corpus.json')) as Corpus,
      firstBuild: (await json('cut.json')) as FirstBuild,
    };
  }

  /** A copy that a server may change. Blobs are hard links: their files are replaced, never written. */
  async copy({ folder }: FilledFolder): Promise<string> {
    const copy = await this.scratch();
    await copyTree(folder, copy, false);
    return copy;
  }

  /** An empty folder. */
  async scratch(): Promise<string> {
    const folder = path.join(this.#base, `work-${process.pid}-${++this.#copies}`);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Removes the copies of this run, and those that killed runs left. */
  async removeCopies(): Promise<void> {
    for (const name of await readdir(this.#base).catch(() => [])) {
      const owner = /^work-(\d+)-/.exec(name)?.[1];
      if (owner === undefined || (Number(owner) !== process.pid && isAlive(Number(owner)))) continue;
      await rm(path.join(this.#base, name), { recursive: true, force: true });
    }
  }

  async #fill(functions: number, folder: string): Promise<void> {
    await mkdir(this.#base, { recursive: true });
    for (const name of await readdir(this.#base)) {
      // Filled by another version of the registry, or incomplete.
      if (name.startsWith(`registry-${functions}-`))
        await rm(path.join(this.#base, name), { recursive: true, force: true });
    }
    const unfinished = `${folder}.unfinished`;
    await mkdir(unfinished, { mode: 0o700 });
    await runProcess([process.execPath, [benchFile('fill.js'), String(functions), unfinished]], {
      error: 'inherit',
    });
    this.#report(`building a catalog of ${functions} functions for the first time`);
    const server = await startServer(this.#tools, unfinished, { core: 'any' });
    const seconds = await waitForBuild(server, functions, this.#allowedSeconds);
    await server.stop();
    const firstBuild: FirstBuild = {
      ...(seconds === undefined ? {} : { seconds }),
      allowedSeconds: this.#allowedSeconds,
    };
    await writeFile(path.join(unfinished, 'cut.json'), JSON.stringify(firstBuild));
    await rename(unfinished, folder);
  }
}

/** Changes with the tables, the generated functions, and the packages that make documents and catalogs. */
function fillKey(): string {
  const hash = createHash('sha256').update(String(GENERATOR_VERSION));
  for (const folder of ['migrations/sqlite', 'bench/dist/synthetic', 'packages/catalog/dist']) {
    for (const name of readdirSync(path.join(root, folder)).sort()) {
      if (/\.(sql|js)$/.test(name)) hash.update(readFileSync(path.join(root, folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 12);
}

async function copyTree(from: string, to: string, linked: boolean): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      await mkdir(target);
      await copyTree(source, target, linked || entry.name === 'blobs' || entry.name === 'forms');
    } else if (linked) await link(source, target);
    else await copyFile(source, target);
  }
}

/** Returns the bytes of the files below a folder. */
export async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    bytes += entry.isDirectory() ? await folderBytes(name) : (await stat(name)).size;
  }
  return bytes;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
