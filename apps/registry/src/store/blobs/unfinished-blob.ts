import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsync, open, rename, rm, write, writev } from 'node:fs';
import path from 'node:path';
import type { Digest } from '@krmhub/schema';
import { syncFolder } from '@krmhub/sources/durable-file';

/**
 * Bytes of a blob that wait in memory for more. A blob that is not larger gets its file when it is committed, so that
 * it needs no more than one write.
 */
const WAITING_BYTES = 32_768;

/** Where a blob folder has a blob. */
export interface BlobPlace {
  /** Folder of temporary files. */
  unfinished: string;
  /** Makes the folder of a blob durable, and returns it. */
  ensureShard(digest: Digest): Promise<string>;
  fileOf(digest: Digest): string;
}

/**
 * A blob in a temporary file that no reader sees. `commit` syncs the file, renames it to its digest, and syncs the
 * folder. Descriptors instead of file handles, which cost more than the calls of a small blob. Rejects with errors of
 * the operating system.
 */
export class UnfinishedBlob {
  readonly #place: BlobPlace;
  readonly #hash = createHash('sha256');
  readonly #file: string;
  #descriptor: number | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isFlushed = false;
  #digest: Digest | undefined;
  #isSynced = false;
  #isCreated = false;
  #isDiscarded = false;
  /** The last use of the descriptor: closing it earlier could let another file have its number. */
  #using: Promise<unknown> = Promise.resolve();

  constructor(place: BlobPlace) {
    this.#place = place;
    this.#file = path.join(place.unfinished, randomUUID());
  }

  /** Adds pieces of bytes. The caller may change them afterwards. */
  async write(pieces: readonly Uint8Array[]): Promise<void> {
    this.#isSynced = false;
    let bytes = 0;
    for (const piece of pieces) {
      this.#hash.update(piece);
      bytes += piece.byteLength;
    }
    if (this.#waitingBytes + bytes > WAITING_BYTES) {
      await this.#append([...this.#takeWaiting(), ...pieces]);
      return;
    }
    // A copy: a piece may be a small part of a large buffer, which must not stay in memory.
    for (const piece of pieces) this.#waiting.push(Buffer.from(piece));
    this.#waitingBytes += bytes;
  }

  digest(): Digest {
    this.#digest ??= `sha256:${this.#hash.digest('hex')}`;
    return this.#digest;
  }

  /** Returns all bytes so far, if the blob has no file. */
  inMemory(): Uint8Array | undefined {
    return this.#isFlushed ? undefined : Buffer.concat(this.#waiting);
  }

  /** Returns the temporary file with all bytes so far. */
  async flushed(): Promise<string> {
    await this.#append(this.#takeWaiting());
    return this.#file;
  }

  async sync(): Promise<void> {
    await this.flushed();
    await this.#use((descriptor) => called((done) => fsync(descriptor, done)));
    this.#isSynced = true;
  }

  /** Rejects after it has removed the temporary file. */
  async commit(): Promise<Digest> {
    const digest = this.digest();
    let shard: string;
    try {
      if (!this.#isSynced) await this.sync();
      // Everything is on the disk, so closing does not wait for it.
      this.#close();
      shard = await this.#place.ensureShard(digest);
      await called((done) => rename(this.#file, this.#place.fileOf(digest), done));
    } catch (error) {
      await this.discard();
      throw error;
    }
    await syncFolder(shard);
    return digest;
  }

  async discard(): Promise<void> {
    this.#isDiscarded = true;
    this.#waiting = [];
    await this.#using;
    try {
      this.#close();
    } catch {
      // The error that discards the blob is the one to report.
    }
    if (this.#isCreated) await called((done) => rm(this.#file, { force: true }, done)).catch(() => undefined);
  }

  #takeWaiting(): Buffer[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#isFlushed = true;
    return waiting;
  }

  async #append(pieces: readonly Uint8Array[]): Promise<void> {
    await this.#use((descriptor) => writeAll(descriptor, pieces));
  }

  #use(work: (descriptor: number) => Promise<void>): Promise<void> {
    const using = this.#using.then(async () => {
      if (this.#isDiscarded) throw new Error('the blob is discarded');
      this.#descriptor ??= await createFile(this.#file);
      this.#isCreated = true;
      await work(this.#descriptor);
    });
    this.#using = using.catch(() => undefined);
    return using;
  }

  #close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

type Done = (error: NodeJS.ErrnoException | null) => void;

function called(start: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error === null ? resolve() : reject(error))));
}

function createFile(file: string): Promise<number> {
  return new Promise((resolve, reject) =>
    open(file, 'wx', 0o644, (error, descriptor) => (error === null ? resolve(descriptor) : reject(error))),
  );
}

/** A write may store only a part, for example if the disk is nearly full. */
async function writeAll(descriptor: number, pieces: readonly Uint8Array[]): Promise<void> {
  let left = pieces.filter(({ byteLength }) => byteLength > 0);
  while (left.length > 0) {
    let written = await writeSome(descriptor, left);
    const after: Uint8Array[] = [];
    for (const piece of left) {
      if (written < piece.byteLength) after.push(written === 0 ? piece : piece.subarray(written));
      written = Math.max(0, written - piece.byteLength);
    }
    left = after;
  }
}

function writeSome(descriptor: number, pieces: readonly Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const done = (error: NodeJS.ErrnoException | null, written: number) =>
      error === null ? resolve(written) : reject(error);
    const [first] = pieces;
    if (pieces.length === 1) write(descriptor, first!, done);
    else writev(descriptor, pieces.slice(0, MAX_PIECES), done);
  });
}

/** Pieces of one call: the limit of the operating system is 1,024. */
const MAX_PIECES = 1_024;
