import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fdatasync, fsync, open, rename, rm, write, writev } from 'node:fs';
import path from 'node:path';
import type { Digest } from '@krmhub/schema';
import { syncFolder } from '@krmhub/sources/durable-file';

/** Bytes of a blob that wait in memory for more. A blob that is not larger needs only one write. */
const WAITING_BYTES = 32_768;
/** Bytes that wait of a few blobs: each write needs another thread, and the client waits meanwhile. */
const MANY_WAITING_BYTES = 1_048_576;
const MAX_WITH_MANY = 16;
/** Pieces of one write: the limit of the operating system is 1,024. */
const MAX_PIECES = 1_024;
/** Bytes of a file that are synced while more arrive. */
const EARLY_SYNC_BYTES = 16_777_216;
/** Early syncs at a time: each has one of the four threads that also write. */
const MAX_EARLY_SYNCS = 2;

let withMany = 0;
let earlySyncs = 0;

/** Where a blob folder has a blob. */
export interface BlobPlace {
  /** Folder of temporary files. */
  unfinished: string;
  /** Makes the folder of a blob durable, and returns it. */
  ensureShard(digest: Digest): Promise<string>;
  fileOf(digest: Digest): string;
  /** Blobs are not committed here, so that large ones are not synced early. */
  isTemporary?: true;
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
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** More than a few bytes wait. */
  #hasMany = false;
  #isFlushed = false;
  /** Bytes written since the last early sync began. */
  #unsyncedBytes = 0;
  /** All early syncs. A failed one fails the blob: the system reports an error only once. */
  #early: Promise<void> = Promise.resolve();
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

  /** Adds pieces of bytes. The caller does not change them any more. */
  async write(pieces: readonly Uint8Array[]): Promise<void> {
    if (this.#isDiscarded) throw discarded();
    this.#isSynced = false;
    let bytes = 0;
    for (const piece of pieces) {
      this.#hash.update(piece);
      bytes += piece.byteLength;
    }
    if (!this.#mayWait(bytes, pieces.length)) {
      await this.#append([...this.#takeWaiting(), ...pieces]);
      return;
    }
    for (const piece of pieces) this.#waiting.push(alone(piece));
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
    await this.#early;
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
    this.#takeWaiting();
    await this.#using;
    await this.#early.catch(() => undefined);
    try {
      this.#close();
    } catch {
      // The error that discards the blob is the one to report.
    }
    if (this.#isCreated) await called((done) => rm(this.#file, { force: true }, done)).catch(() => undefined);
  }

  #mayWait(more: number, pieces: number): boolean {
    const bytes = this.#waitingBytes + more;
    if (bytes > MANY_WAITING_BYTES || this.#waiting.length + pieces > MAX_PIECES) return false;
    if (bytes <= WAITING_BYTES || this.#hasMany) return true;
    if (withMany >= MAX_WITH_MANY) return false;
    withMany += 1;
    this.#hasMany = true;
    return true;
  }

  #takeWaiting(): Uint8Array[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#hasMany) withMany -= 1;
    this.#hasMany = false;
    this.#isFlushed = true;
    return waiting;
  }

  async #append(pieces: readonly Uint8Array[]): Promise<void> {
    await this.#use(async (descriptor) => {
      await writeAll(descriptor, pieces);
      for (const { byteLength } of pieces) this.#unsyncedBytes += byteLength;
      if (this.#unsyncedBytes >= EARLY_SYNC_BYTES) this.#syncEarly(descriptor);
    });
  }

  /** Begins a sync that nobody waits for until the blob is complete. */
  #syncEarly(descriptor: number): void {
    if (this.#place.isTemporary === true || earlySyncs >= MAX_EARLY_SYNCS) return;
    this.#unsyncedBytes = 0;
    earlySyncs += 1;
    const syncing = called((done) => fdatasync(descriptor, done)).finally(() => {
      earlySyncs -= 1;
    });
    this.#early = Promise.all([this.#early, syncing]).then(() => undefined);
    this.#early.catch(() => undefined);
  }

  #use(work: (descriptor: number) => Promise<void>): Promise<void> {
    const using = this.#using.then(async () => {
      if (this.#isDiscarded) throw discarded();
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

function discarded(): Error {
  return new Error('the blob is discarded');
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

/** Returns a piece without the rest of its buffer, which must not stay in memory. */
function alone(piece: Uint8Array): Uint8Array {
  return piece.byteLength * 2 < piece.buffer.byteLength ? Buffer.from(piece) : piece;
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
