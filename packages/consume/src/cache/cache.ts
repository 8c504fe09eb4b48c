/**
 * The cache on disk: catalogs, what was read of them, executables, and scripts.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { platform, userInfo } from 'node:os';
import path from 'node:path';
import { defined } from '@krmhub/schema/defined';
import { type Digest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import { diskError } from '../files/read-file.js';
import type { Clock, Environment, Program, Trace, WorkingFolder } from '../ports.js';
import { cacheFolder } from './cache-folder.js';
import { CACHE_LIMITS, type CacheLimits } from './limits.js';
import { RecordKey, recordKeyFile } from './record-key.js';
import type { RecordKind } from './record-kinds.js';
import { type WrittenBlob, writeCacheFile, writeStream } from './write.js';

/**
 * A cache on disk that several processes share. Everything in it is either named by its digest, which is checked when
 * it is read, or a record with a code that proves that this user wrote it on this machine (record-key.ts): a pipeline
 * restores caches that others can write. Files are written beside and renamed, so a reader sees a whole file or none. A
 * damaged file counts as missing, and is removed.
 *
 *     blobs/sha256/HEX        bytes with this digest
 *     index/HEX               index of the entries of the document with this digest, which a record proves
 *     KIND/HEX.json           records: what is known of a reference, by the digest of its name
 *     private/HEX/ACTOR/      the same, for what an origin gave only to one actor
 *     tmp/                    files that are being written
 */
export class Cache {
  readonly folder: string;
  /** Of the program: what it read of an entry is not for another version. */
  readonly version: string;
  readonly #key: RecordKey;
  readonly #limits: CacheLimits;
  readonly #now: () => Date;
  readonly #trace: Trace['trace'];
  /** The cache that this one is a part of. */
  readonly #whole: Cache | undefined;
  #hasWritten = false;

  constructor(
    folder: string,
    io: Clock & Program & Trace,
    key: RecordKey,
    limits: CacheLimits = CACHE_LIMITS,
    whole?: Cache,
  ) {
    this.folder = folder;
    this.version = io.version;
    this.#trace = io.trace;
    this.#now = io.now;
    this.#key = key;
    this.#limits = limits;
    this.#whole = whole;
  }

  /** Folder for files that are being written, and for other temporary data. */
  get temporaryFolder(): string {
    return this.#whole?.temporaryFolder ?? path.join(this.folder, 'tmp');
  }

  /** Reports whether this is a part of another cache. */
  get isPart(): boolean {
    return this.#whole !== undefined;
  }

  /** Reports whether there are parts, for what is private. */
  async hasParts(): Promise<boolean> {
    return (await stat(path.join(this.folder, 'private')).catch(() => undefined)) !== undefined;
  }

  /** Returns a cache in a folder of this one. */
  part(folder: string): Cache {
    const io = { version: this.version, now: this.#now, ...defined({ trace: this.#trace }) };
    return new Cache(folder, io, this.#key, this.#limits, this);
  }

  /** Path of a blob, whether it exists or not. Nothing at this path is verified. */
  blobPath(digest: Digest): string {
    return path.join(this.folder, 'blobs', 'sha256', hexDigest(digest));
  }

  /** Path of the index of a document, whether it exists or not. */
  indexPath(document: Digest): string {
    return path.join(this.folder, 'index', hexDigest(document));
  }

  /** Returns the size of a blob, which is not verified; undefined if the cache has none. */
  sizeOfBlob(digest: Digest): Promise<number | undefined> {
    return fileSize(this.blobPath(digest));
  }

  /** Returns the bytes with this digest; undefined if the cache has none, or more than `maxBytes`. */
  async readBlob(digest: Digest, maxBytes: number): Promise<Uint8Array | undefined> {
    const file = this.blobPath(digest);
    const bytes = await readIfExists(file, maxBytes);
    if (bytes === undefined) return undefined;
    if (sha256(bytes) === digest) {
      await this.touch(file);
      return bytes;
    }
    await this.remove(file);
    return undefined;
  }

  /**
   * Returns the path of a file with this digest, which is read and verified now; undefined if the cache has none.
   * Another process of this user can change it afterwards, so what must not change has to be copied and verified there.
   */
  async blobFile(digest: Digest): Promise<string | undefined> {
    const file = this.blobPath(digest);
    // A device or a pipe, which a restored cache may have, would be read without an end.
    if ((await fileSize(file)) === undefined) return undefined;
    try {
      const hash = createHash('sha256');
      for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
      if (`sha256:${hash.digest('hex')}` === digest) {
        await this.touch(file);
        return file;
      }
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw diskError(error, escapeControls(`cannot read ${file}`));
    }
    await this.remove(file);
    return undefined;
  }

  /** Stores bytes by their digest. Throws `unavailable` or `storage-full`. */
  async writeBlob(bytes: Uint8Array): Promise<Digest> {
    const digest = sha256(bytes);
    const file = this.blobPath(digest);
    // Rewriting an existing file would be wasted, but it may be damaged: only its size is compared.
    if ((await fileSize(file)) !== bytes.byteLength) await this.#write(file, bytes);
    return digest;
  }

  /**
   * Stores a stream by its digest, without holding it in memory. Throws `digest-mismatch` if it has not the digest
   * `expected`, and `too-large` above `maxBytes`; then nothing is stored. Errors of the stream are passed on.
   */
  async writeBlobStream(
    source: AsyncIterable<Uint8Array>,
    limits: { maxBytes: number; expected?: Digest },
  ): Promise<WrittenBlob> {
    const written = await writeStream(source, {
      ...limits,
      temporaryFolder: this.temporaryFolder,
      place: (digest) => this.blobPath(digest),
    });
    this.#wrote();
    return written;
  }

  /** Stores an index. */
  async writeIndex(document: Digest, bytes: Uint8Array): Promise<void> {
    await this.#write(this.indexPath(document), bytes);
  }

  /**
   * Returns the record of a name; undefined if there is none, it is damaged, or it does not prove that this user wrote it
   * on this machine. `ofAnyone` is for what is used without the network alone, where nothing else is known, and for what
   * only refuses.
   */
  async readRecord(
    kind: RecordKind,
    name: string,
    { ofAnyone = false }: { ofAnyone?: boolean } = {},
  ): Promise<Record<string, unknown> | undefined> {
    const file = this.#recordPath(kind, name);
    const bytes = await readIfExists(file, this.#limits.maxRecordBytes);
    if (bytes === undefined) return undefined;
    try {
      const { proof, ...record } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
      if (record.name !== name) return undefined;
      if (ofAnyone || (await this.#key.hasSigned(this.#signed(kind, record), proof))) {
        await this.touch(file);
        return record;
      }
      this.#trace?.(`not used, it was written on another machine: ${path.relative(this.folder, file)}`);
    } catch {
      // Damaged: it is written again.
    }
    return undefined;
  }

  async writeRecord(kind: RecordKind, name: string, record: object): Promise<void> {
    const named = { name, ...record };
    const proof = await this.#key.sign(this.#signed(kind, named));
    const text = JSON.stringify({ ...named, proof });
    if (Buffer.byteLength(text) > this.#limits.maxRecordBytes) return;
    await this.#write(this.#recordPath(kind, name), Buffer.from(text));
  }

  /** A record of one part must not be read as one of another. */
  #signed(kind: RecordKind, record: object): string {
    const part = this.#whole === undefined ? '' : path.relative(this.#whole.folder, this.folder);
    return JSON.stringify([kind, part.split(path.sep).join('/'), record]);
  }

  /** Returns the names of all records of a kind, also of those that another machine wrote: for what is rare. */
  async recordNames(kind: RecordKind): Promise<string[]> {
    const files = await readdir(path.join(this.folder, kind)).catch(() => []);
    const names: string[] = [];
    for (const file of files) {
      const bytes = await readIfExists(path.join(this.folder, kind, file), this.#limits.maxRecordBytes);
      const name = bytes && recordName(bytes);
      if (name !== undefined) names.push(name);
    }
    return names;
  }

  async removeRecord(kind: RecordKind, name: string): Promise<void> {
    await this.remove(this.#recordPath(kind, name));
  }

  /** Removes a file of the cache. It may be gone already. */
  async remove(file: string): Promise<void> {
    await rm(file, { force: true }).catch(() => undefined);
  }

  /** Marks a file as used. Never fails: the file may be gone, or the disk read-only. */
  async touch(file: string): Promise<void> {
    this.#trace?.(`cached: ${path.relative(this.folder, file)}`);
    const now = this.#now();
    try {
      const { mtimeMs } = await stat(file);
      if (now.getTime() - mtimeMs > this.#limits.touchedMilliseconds) await utimes(file, now, now);
    } catch {
      // Only the order of removal depends on it.
    }
  }

  /** Removes the oldest files if this process wrote some and the cache is too large. Never fails. */
  async close(): Promise<void> {
    if (!this.#hasWritten) return;
    const { evict } = await import('./evict.js');
    await evict(this.folder, this.#now(), this.#limits).catch(() => undefined);
  }

  #wrote(): void {
    this.#hasWritten = true;
    if (this.#whole !== undefined) this.#whole.#wrote();
  }

  #recordPath(kind: RecordKind, name: string): string {
    return path.join(this.folder, kind, `${hexDigest(sha256(name))}.json`);
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    await writeCacheFile(file, bytes, this.temporaryFolder);
    this.#wrote();
  }
}

/**
 * Opens the cache of the user. Nothing is created before it is needed. Throws `unavailable` for a folder that other users can write to: they could have this user run
 * something.
 */
export async function openCache(io: Clock & Environment & Program & Trace & WorkingFolder): Promise<Cache> {
  const folder = cacheFolder(io);
  await checkOwner(folder);
  io.trace?.(`cache: ${folder}`);
  return new Cache(folder, io, new RecordKey(recordKeyFile(io)));
}

async function checkOwner(folder: string): Promise<void> {
  if (platform() === 'win32') return;
  let status: Awaited<ReturnType<typeof stat>>;
  try {
    status = await stat(folder);
  } catch (error) {
    if (isMissing(error)) return;
    throw diskError(error, escapeControls(`cannot read the cache ${folder}`));
  }
  const { uid } = userInfo();
  // Root as well: the owner could change what root then runs.
  const isOthers = status.uid !== uid && status.uid !== 0;
  if ((status.mode & 0o022) === 0 && !isOthers) return;
  const problem = isOthers ? 'belongs to another user' : 'is writable by other users';
  throw new KrmhubError('unavailable', escapeControls(`the cache ${folder} ${problem}`), {
    hint: isOthers
      ? 'Use another folder: set KRMHUB_CACHE.'
      : escapeControls(`Review it, then run: chmod 700 ${folder}`),
  });
}

function recordName(bytes: Uint8Array): string | undefined {
  try {
    const { name } = JSON.parse(new TextDecoder().decode(bytes)) as { name?: unknown };
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

async function readIfExists(file: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    const size = await fileSize(file);
    return size === undefined || size > maxBytes ? undefined : await readFile(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw diskError(error, escapeControls(`cannot read ${file}`));
  }
}

async function fileSize(file: string): Promise<number | undefined> {
  try {
    const status = await stat(file);
    return status.isFile() ? status.size : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw diskError(error, escapeControls(`cannot read ${file}`));
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function hexDigest(digest: Digest): string {
  return digest.slice('sha256:'.length);
}
