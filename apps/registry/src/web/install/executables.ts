import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { arch, execPath, platform as system } from 'node:process';
import { isSea } from 'node:sea';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { executableName, PLATFORMS, type Platform } from './platforms.js';

export const CHECKSUMS = 'checksums.txt';
export const CHECKSUMS_BUNDLE = `${CHECKSUMS}.sigstore.json`;
/** Of the list, and of its signature. */
const MAX_TEXT_BYTES = 1_048_576;
/** An executable has about 130 MB. */
const MAX_EXECUTABLE_BYTES = 1_073_741_824;
const PIECE_BYTES = 262_144;

/** A file whose content is known. */
export interface KnownFile {
  file: string;
  /** What changes with the content. */
  identity: string;
}

/** A file of which only the bytes are served that have this digest. */
export interface HashedFile extends KnownFile {
  size: number;
  digest: Digest;
}

export interface Executable extends HashedFile {
  name: string;
  platform: Platform;
  /** Its copy in the format of gzip. */
  compressed?: HashedFile;
}

export interface Executables {
  offered: readonly Executable[];
  /** Why files of the folder are not offered. */
  problems: readonly string[];
  /** The list of digests in the folder. */
  checksums?: string;
  /** The sigstore bundle of that list. */
  bundle?: Uint8Array;
}

/**
 * Finds the executables of this version in a folder. One is offered only if the list in the folder has its digest. A
 * registry that runs as an executable also offers itself.
 */
export class ExecutableFinder {
  readonly #version: string;
  readonly #folder: string;
  readonly #hashed = new Map<string, { identity: string; digest: Promise<Digest> }>();
  /** From the start: a later version can replace the file. */
  readonly #own = isSea() ? stat(execPath).catch(() => undefined) : undefined;

  constructor(version: string, folder: string) {
    this.#version = version;
    this.#folder = folder;
  }

  async find(): Promise<Executables> {
    const checksums = (await this.#read(CHECKSUMS))?.toString();
    const listed = readChecksums(checksums ?? '');
    const offered: Executable[] = [];
    const problems: string[] = [];
    const find = async (name: string): Promise<HashedFile | undefined> => {
      const file = join(this.#folder, name);
      const digest = listed.get(name);
      // A file that is not listed is not read: it can be of any size.
      if (digest === undefined) {
        if (await isFile(file)) problems.push(`${name} is not in ${CHECKSUMS}`);
        return undefined;
      }
      const found = await this.#hash(file);
      if (found === undefined || found.digest === digest) return found;
      problems.push(`${name} differs from its digest in ${CHECKSUMS}`);
      return undefined;
    };
    for (const platform of Object.keys(PLATFORMS) as Platform[]) {
      const name = executableName(this.#version, platform);
      const found = (await find(name)) ?? (await this.#self(platform));
      if (found === undefined) continue;
      offered.push({ ...found, name, platform, ...defined({ compressed: await find(`${name}.gz`) }) });
    }
    return { offered, problems, ...defined({ checksums, bundle: await this.#read(CHECKSUMS_BUNDLE) }) };
  }

  async #self(platform: Platform): Promise<HashedFile | undefined> {
    const started = await this.#own;
    if (started === undefined || platform !== `${system === 'win32' ? 'win' : system}-${arch}`)
      return undefined;
    const found = await this.#hash(execPath);
    return found?.identity === identityOf(started) ? found : undefined;
  }

  async #hash(file: string): Promise<HashedFile | undefined> {
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() !== true || found.size > MAX_EXECUTABLE_BYTES) return undefined;
    const identity = identityOf(found);
    let hashed = this.#hashed.get(file);
    if (hashed?.identity !== identity) {
      hashed = { identity, digest: digestOf({ file, identity }) };
      hashed.digest.catch(() => this.#hashed.delete(file));
      this.#hashed.set(file, hashed);
    }
    const digest = await hashed.digest.catch(() => undefined);
    return digest && { file, size: found.size, digest, identity };
  }

  async #read(name: string): Promise<Buffer | undefined> {
    const file = join(this.#folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() !== true || found.size > MAX_TEXT_BYTES) return undefined;
    return readFile(file).catch(() => undefined);
  }
}

/** Yields the bytes of a file. Throws if it was changed since it was hashed, or while it is read. */
export async function* readHashed({ file, identity }: KnownFile): AsyncGenerator<Uint8Array> {
  const handle = await open(file);
  try {
    const requireSame = async () => {
      if (identityOf(await handle.stat()) !== identity) throw new Error(`${file} was changed`);
    };
    await requireSame();
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES);
      await requireSame();
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function isFile(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() === true;
}

/** Reads lines of `sha256sum`: digests by the name of the file. */
export function readChecksums(text: string): Map<string, Digest> {
  const lines = text.matchAll(/^([0-9a-f]{64}) [ *](\S+)$/gm);
  return new Map([...lines].map(([, hex, name]) => [name!, `sha256:${hex!}`]));
}

async function digestOf(file: KnownFile): Promise<Digest> {
  const hash = createHash('sha256');
  for await (const piece of readHashed(file)) hash.update(piece);
  return `sha256:${hash.digest('hex')}`;
}

function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
}
