/**
 * Copies of the search index in the S3-compatible store, so that a new process need not read the whole registry.
 *
 * The leader writes one when enough has changed, and the setting `search-index` of the database names it: its version,
 * the last event and takedown in it, and the digests of its pieces. The objects are no blobs, so that no route serves
 * them: the index has the words of private functions too.
 *
 * A copy is used only while its takedown is the last one. Each piece is stored under the lock that a takedown waits for
 * before it deletes all of them, and only if there was no takedown since, so that none is left.
 */

import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { type Digest, isDigest, sha256 } from '@krmhub/schema';
import type { BytesLock } from '../../../workers/processes/processes.js';
import type { PieceStore } from '../../blobs/s3/pieces.js';
import type { SettingStore } from '../../setting-store.js';

/** Bytes of the index in a piece. */
const PIECE_BYTES = 8_388_608;
/** An index of more than 16 GB is not copied. */
const MAX_PIECES = 2_048;
/** Pieces that are fetched at the same time. */
const FETCHED_AT_ONCE = 4;
/** Time after which it is better to read the database. */
const FETCH_MILLISECONDS = 60_000;
/** Age of pieces that no copy names: their process ended before it could name them. A copy takes seconds. */
const ABANDONED_MILLISECONDS = 3_600_000;
/** It is read often, and unpacked once. */
const LEVEL = 1;

/** What is in an index. */
export interface Indexed {
  /** Of the tables and their content. */
  version: number;
  /** Last event. */
  event: number;
  /** Number of the last takedown. */
  takedowns: number;
}

/** A copy, as the setting names it. */
export interface IndexCopy extends Indexed {
  id: string;
  /** When it was written, in milliseconds. */
  writtenAt: number;
  /** Bytes of the index. */
  size: number;
  /** Of the compressed pieces. */
  digests: Digest[];
}

/** The bytes of a copy are not those that were stored. */
class DamagedCopy extends Error {}

export interface IndexCopiesDeps {
  pieces: PieceStore;
  settings: SettingStore;
  bytesLock: BytesLock;
  /** Returns the number of the last takedown. */
  lastTakedown(): Promise<number>;
}

/** Deletes copies of the search index. */
export interface IndexDeleter {
  deleteAll(): Promise<void>;
}

export class IndexCopies implements IndexDeleter {
  readonly #deps: IndexCopiesDeps;

  constructor(deps: IndexCopiesDeps) {
    this.#deps = deps;
  }

  /** Returns the newest copy; undefined if there is none that this version can read. */
  async newest(): Promise<IndexCopy | undefined> {
    return readCopy(await this.#deps.settings.setting('search-index'));
  }

  /**
   * Fetches the newest copy of a version into a file, which must not exist. Throws an Error with a reason if there is
   * none. One that is lost or damaged is forgotten, so that the leader writes another.
   */
  async fetch(file: string, version: number): Promise<void> {
    const copy = await this.newest();
    if (copy === undefined) throw new Error('there is none');
    if (copy.version !== version)
      throw new Error(`it has version ${copy.version}, and this version of krmhub uses ${version}`);
    if (copy.takedowns !== (await this.#deps.lastTakedown()))
      throw new Error('a release was taken down after it');
    try {
      await this.#fetchPieces(file, copy);
    } catch (error) {
      // The leader deletes a copy when it has written the next one.
      const now = await this.newest();
      // Others can use it if only this process cannot fetch it.
      const isLost = now?.id === copy.id && (error instanceof DamagedCopy || (await this.#lacksPieces(copy)));
      if (isLost) await this.#forget(copy).catch(() => undefined);
      if (now === undefined || now.id === copy.id) throw error;
      await this.#fetchPieces(file, now);
    }
  }

  /**
   * Stores a file as the newest copy, and deletes the one before. Returns the newest one: undefined if there was a
   * takedown, or another process was faster.
   */
  async store(file: string, indexed: Indexed): Promise<IndexCopy | undefined> {
    const { pieces, settings, bytesLock } = this.#deps;
    const before = await settings.setting('search-index');
    const id = randomUUID();
    const digests: Digest[] = [];
    const handle = await open(file, 'r');
    let stored: IndexCopy | undefined;
    try {
      const { size } = await handle.stat();
      if (size > MAX_PIECES * PIECE_BYTES) return undefined;
      for (let at = 0; at * PIECE_BYTES < size; at += 1) {
        const bytes = Buffer.alloc(Math.min(PIECE_BYTES, size - at * PIECE_BYTES));
        await handle.read(bytes, 0, bytes.byteLength, at * PIECE_BYTES);
        const packed = await promisify(gzip)(bytes, { level: LEVEL });
        digests.push(sha256(packed));
        if (!(await this.#unlessTakenDown(indexed, () => pieces.put(pieceName(id, at), packed))))
          return undefined;
      }
      const copy: IndexCopy = { ...indexed, id, writtenAt: Date.now(), size, digests };
      const text = JSON.stringify(copy);
      await this.#unlessTakenDown(indexed, async () => {
        if ((await settings.changeSetting('search-index', before, text)) === text) stored = copy;
      });
    } finally {
      await handle.close();
      if (stored === undefined) await this.#deletePieces(id, digests.length);
    }
    const previous = readCopy(before);
    if (stored !== undefined && previous !== undefined)
      await this.#deletePieces(previous.id, previous.digests.length);
    await bytesLock.read(() => this.#deleteAbandoned());
    return stored;
  }

  /** Deletes all copies. Requires the write lock, and a takedown after which they are not used. */
  async deleteAll(): Promise<void> {
    const { pieces } = this.#deps;
    for await (const { name } of pieces.list()) await pieces.delete(name);
  }

  /** Runs work while no takedown deletes copies. Returns false if there was one since the index was read. */
  #unlessTakenDown({ takedowns }: Indexed, work: () => Promise<void>): Promise<boolean> {
    return this.#deps.bytesLock.read(async () => {
      if ((await this.#deps.lastTakedown()) !== takedowns) return false;
      await work();
      return true;
    });
  }

  /** Reports whether pieces of a copy are lost; false also while nobody can tell. */
  async #lacksPieces({ id, digests }: IndexCopy): Promise<boolean> {
    const found = new Set<string>();
    try {
      for await (const { name } of this.#deps.pieces.list()) found.add(name);
    } catch {
      return false;
    }
    return digests.some((_, at) => !found.has(pieceName(id, at)));
  }

  async #forget(copy: IndexCopy): Promise<void> {
    await this.#deps.settings.changeSetting('search-index', JSON.stringify(copy), '');
  }

  async #fetchPieces(file: string, { id, size, digests }: IndexCopy): Promise<void> {
    const late = AbortSignal.timeout(FETCH_MILLISECONDS);
    const handle = await open(file, 'w', 0o600);
    try {
      const waiting = digests.entries();
      const fetchSome = async () => {
        for (const [at, digest] of waiting) {
          const bytes = await this.#fetchPiece(pieceName(id, at), digest, late);
          if (bytes.byteLength !== Math.min(PIECE_BYTES, size - at * PIECE_BYTES))
            throw new DamagedCopy('a piece of it has another size');
          await handle.write(bytes, 0, bytes.byteLength, at * PIECE_BYTES);
        }
      };
      await Promise.all(Array.from({ length: FETCHED_AT_ONCE }, fetchSome));
    } finally {
      await handle.close();
    }
  }

  async #fetchPiece(name: string, digest: Digest, late: AbortSignal): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of this.#deps.pieces.read(name)) {
      late.throwIfAborted();
      size += part.byteLength;
      if (size > 2 * PIECE_BYTES) break;
      parts.push(part);
    }
    const packed = Buffer.concat(parts);
    if (sha256(packed) !== digest) throw new DamagedCopy('a piece of it does not match its digest');
    return promisify(gunzip)(packed, { maxOutputLength: PIECE_BYTES });
  }

  async #deletePieces(id: string, count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) await this.#deps.pieces.delete(pieceName(id, at));
  }

  async #deleteAbandoned(): Promise<void> {
    const { pieces } = this.#deps;
    const newest = await this.newest();
    const before = Date.now() - ABANDONED_MILLISECONDS;
    for await (const { name, written } of pieces.list()) {
      if (written.getTime() < before && !name.startsWith(`${newest?.id}/`)) await pieces.delete(name);
    }
  }
}

function pieceName(id: string, at: number): string {
  return `${id}/${at}`;
}

/** Another version may have written the setting. */
function readCopy(text: string | undefined): IndexCopy | undefined {
  if (text === undefined) return undefined;
  let copy: Partial<IndexCopy> | null;
  try {
    copy = JSON.parse(text) as Partial<IndexCopy> | null;
  } catch {
    return undefined;
  }
  const { id, size, digests, version, event, takedowns, writtenAt } = copy ?? {};
  const numbers = [size, version, event, takedowns, writtenAt];
  if (!numbers.every((number) => Number.isSafeInteger(number) && number! >= 0)) return undefined;
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id)) return undefined;
  if (!Array.isArray(digests) || !digests.every(isDigest)) return undefined;
  if (digests.length > MAX_PIECES || digests.length !== Math.ceil(size! / PIECE_BYTES)) return undefined;
  return copy as IndexCopy;
}
