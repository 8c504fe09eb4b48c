import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobWriter, WritableBlobs } from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { SERVER_LIMITS } from '../limits.js';
import type { Log } from '../log.js';
import type { PieceStore } from '../store/blobs/s3/pieces.js';
import type { UploadOwner, UploadStore } from '../store/upload-store.js';
import { countBuffers } from '../workers/isolation/collect-garbage.js';
import {
  type Receiving,
  tooManyUploads,
  type UploadSession,
  type UploadSessions,
  uploadBusy,
  uploadUnknown,
  type VerifiedUpload,
  verifiedUpload,
} from './upload-sessions.js';

/** An upload as one request sees it. */
interface SharedUpload extends UploadSession {
  /** The request, while it has exclusive access. */
  owner?: string;
  /** Names of its pieces in order. */
  pieces: string[];
  /** Bytes of the other uploads to its repository, if they count. */
  others?: number;
  hasEnded?: boolean;
}

/** The bytes of an upload in a file of this process. */
interface LocalCopy {
  writer: BlobWriter;
  size: number;
  /** Milliseconds since 1970. */
  usedAt: number;
}

export interface SharedUploadsOptions {
  store: UploadStore;
  pieces: PieceStore;
  blobs: WritableBlobs;
  clock: () => Date;
  log: Log;
  maxUploads?: number;
  maxUploadsOfToken?: number;
}

/** Milliseconds between two attempts to take or release an upload. */
const TAKE_RETRY_MS = 200;
/** Milliseconds after which a request fails because another one writes to the upload. */
const TAKE_PATIENCE_MS = 3_000;
/** Attempts to release: afterwards, others take the upload because its owner is lost. */
const RELEASE_TRIES = 150;

/** Bytes of all pieces that are in memory. */
let waitingBytes = 0;

/**
 * Open uploads that any process of a registry continues: a row for each, and its bytes as pieces in the object store.
 * The last request streams the pieces, verifies them, and stores the blob. A process that received all of them has
 * them in a file as well, so that it does not read them again; the body of a request that is the first and the last is
 * only there.
 */
export class SharedUploads implements UploadSessions<SharedUpload> {
  readonly #options: Required<SharedUploadsOptions>;
  readonly #copies = new Map<string, LocalCopy>();
  readonly #deleting = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: SharedUploadsOptions) {
    const { maxUploads, maxUploadsOfToken } = SERVER_LIMITS;
    this.#options = { maxUploads, maxUploadsOfToken, ...options };
  }

  async start(repository: string, token: string, { isLast } = { isLast: false }): Promise<SharedUpload> {
    const { store, maxUploads: max, maxUploadsOfToken: maxOfToken } = this.#options;
    await this.#discardIdle();
    const upload = { id: randomUUID(), ...defined({ owner: isLast ? randomUUID() : undefined }) };
    const outcome = await store.addUpload(
      { ...upload, repository, token, at: this.#at() },
      { max, maxOfToken },
    );
    if (outcome !== 'added') {
      throw outcome === 'too-many' ? tooManyUploads(max, false) : tooManyUploads(maxOfToken, true);
    }
    return { ...upload, repository, size: 0, pieces: [] };
  }

  async find(repository: string, id: string): Promise<SharedUpload> {
    const found = await this.#options.store.upload(id);
    if (found === undefined || found.repository !== repository) throw uploadUnknown();
    return { id, repository, size: found.size, pieces: [] };
  }

  async exclusive<Result>(upload: SharedUpload, work: () => Promise<Result>): Promise<Result> {
    const { store, log } = this.#options;
    if (upload.owner === undefined) {
      const taken = await this.#takeSoon(upload);
      if (taken === 'unknown') throw uploadUnknown();
      if (taken === 'busy') throw uploadBusy();
    }
    const renewing = setInterval(() => {
      store
        .renewUpload(this.#ownerOf(upload))
        .catch((error) => log.warn({ err: error }, 'cannot renew an upload'));
    }, SERVER_LIMITS.uploadRenewMilliseconds);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
      // An upload that is not released is free once its owner was not seen for a while.
      if (upload.hasEnded !== true) {
        const owner = this.#ownerOf(upload);
        delete upload.owner;
        await store.releaseUpload(owner).catch(() => this.#releaseLater(owner));
      }
    }
  }

  async receive(
    upload: SharedUpload,
    body: AsyncIterable<readonly Uint8Array[]>,
    { refuse, isLast }: Receiving,
  ): Promise<void> {
    const copy = await this.#copyOf(upload, isLast);
    let waiting: Uint8Array[] = [];
    let size = 0;
    let unreserved = 0;
    const flush = async (): Promise<void> => {
      if (size === 0) return;
      const bytes = Buffer.concat(waiting);
      await this.#addPiece(upload, bytes);
      waitingBytes -= size;
      [waiting, size] = [[], 0];
    };
    try {
      for await (const arrived of body) {
        const bytes = arrived.reduce((sum, { byteLength }) => sum + byteLength, 0);
        countBuffers(bytes);
        try {
          unreserved += bytes;
          if (isLast && unreserved >= SERVER_LIMITS.uploadPieceBytes) {
            await this.#reserve(upload, unreserved);
            unreserved = 0;
          }
          refuse(upload.size + size + bytes);
          await copy?.writer.write(...arrived);
          if (copy !== undefined) copy.size += bytes;
          if (isLast) upload.size += bytes;
          else {
            waiting.push(...arrived);
            size += bytes;
            waitingBytes += bytes;
            if (size >= pieceBytes()) await flush();
          }
        } catch (error) {
          await this.end(upload);
          throw error;
        }
      }
    } finally {
      // What arrived before a connection broke is stored, and the client continues after it.
      try {
        if (upload.hasEnded !== true) await flush();
      } finally {
        waitingBytes -= size;
      }
    }
  }

  async verify(upload: SharedUpload, digest: OciDigest): Promise<VerifiedUpload> {
    const copy = await this.#copyOf(upload, true);
    this.#copies.delete(upload.id);
    const { writer, size } = copy!;
    const verified = await verifiedUpload(writer, { size }, digest).catch(async (error) => {
      await this.end(upload);
      throw error;
    });
    let isRemoved = false;
    try {
      isRemoved = await this.#remove(upload);
    } finally {
      if (!isRemoved) await writer.discard();
    }
    if (isRemoved) return verified;
    throw uploadUnknown();
  }

  async end(upload: SharedUpload): Promise<void> {
    await this.#discard(upload.id);
    if (upload.hasEnded === true) return;
    if (upload.owner !== undefined || (await this.#take(upload)) === 'taken') await this.#remove(upload);
  }

  /** Includes what arrives later, read again with each piece. */
  async bytesOfOthers(upload: SharedUpload): Promise<() => number> {
    upload.others = 0;
    await this.#countOthers(upload);
    return () => upload.others ?? 0;
  }

  async expire(): Promise<number> {
    const { store, pieces, clock } = this.#options;
    const { uploadIdleMilliseconds } = SERVER_LIMITS;
    const { ended, pieces: names } = await store.endIdleUploads(this.#at(-uploadIdleMilliseconds));
    for (const name of names) await pieces.delete(name);
    await this.#discardIdle();
    const now = clock().getTime();
    // A process that was killed leaves pieces that no row names. What is written now has a row.
    const open = await store.openUploads();
    for await (const { name, written } of pieces.list()) {
      if (open.has(name.slice(0, name.indexOf('/')))) continue;
      if (written.getTime() < now - uploadIdleMilliseconds) await pieces.delete(name);
    }
    return ended;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const id of [...this.#copies.keys()]) await this.#discard(id);
    await Promise.all(this.#deleting);
  }

  /**
   * Returns the bytes of an upload in a file of this process, if it has all; with `isNeeded`, it reads what other
   * processes stored.
   */
  async #copyOf(upload: SharedUpload, isNeeded: boolean): Promise<LocalCopy | undefined> {
    const { blobs, pieces } = this.#options;
    const usedAt = this.#now();
    const known = this.#copies.get(upload.id);
    if (known?.size === upload.size) return Object.assign(known, { usedAt });
    await this.#discard(upload.id);
    if (upload.size > 0 && !isNeeded) return undefined;
    const copy = { writer: await blobs.write(), size: 0, usedAt };
    this.#copies.set(upload.id, copy);
    for (const name of upload.pieces) {
      for await (const bytes of pieces.read(name)) {
        await copy.writer.write(bytes);
        copy.size += bytes.byteLength;
      }
    }
    if (copy.size !== upload.size)
      throw new Error(`the pieces have ${copy.size} bytes, expected ${upload.size}`);
    return copy;
  }

  /** Waits for a request that may have ended without a release, because its connections broke. */
  async #takeSoon(upload: SharedUpload): Promise<'taken' | 'busy' | 'unknown'> {
    for (let waited = 0; ; waited += TAKE_RETRY_MS) {
      const taken = await this.#take(upload);
      if (taken !== 'busy' || waited >= TAKE_PATIENCE_MS) return taken;
      await sleep(TAKE_RETRY_MS);
    }
  }

  /** Tries again what the database did not answer, so that another process can continue the upload at once. */
  #releaseLater(owner: UploadOwner): void {
    const releasing: Promise<unknown> = (async () => {
      for (let tries = 0; tries < RELEASE_TRIES && !this.#isClosed; tries += 1) {
        await sleep(TAKE_RETRY_MS);
        const isReleased = await this.#options.store.releaseUpload(owner).then(
          () => true,
          () => false,
        );
        if (isReleased) return;
      }
    })().finally(() => this.#deleting.delete(releasing));
    this.#deleting.add(releasing);
  }

  async #take(upload: SharedUpload): Promise<'taken' | 'busy' | 'unknown'> {
    const owner = randomUUID();
    const lostBefore = this.#at(-SERVER_LIMITS.uploadLostMilliseconds);
    const taken = await this.#options.store.takeUpload({ id: upload.id, owner, at: this.#at() }, lostBefore);
    if (taken === undefined) return 'unknown';
    if (taken === 'busy') return 'busy';
    Object.assign(upload, { owner, size: taken.upload.size, pieces: taken.pieces });
    return 'taken';
  }

  async #addPiece(upload: SharedUpload, bytes: Uint8Array): Promise<void> {
    const { store, pieces } = this.#options;
    const name = `${upload.id}/${randomUUID()}`;
    await pieces.put(name, bytes);
    if (!(await store.addUploadPiece(this.#ownerOf(upload), { name, size: bytes.byteLength }))) {
      await pieces.delete(name);
      throw uploadUnknown();
    }
    upload.pieces.push(name);
    upload.size += bytes.byteLength;
    await this.#countOthers(upload);
  }

  /** Other processes count what this one has only in a file. */
  async #reserve(upload: SharedUpload, size: number): Promise<void> {
    if (!(await this.#options.store.reserveUploadBytes(this.#ownerOf(upload), size))) throw uploadUnknown();
    await this.#countOthers(upload);
  }

  async #countOthers(upload: SharedUpload): Promise<void> {
    if (upload.others === undefined) return;
    upload.others = await this.#options.store.bytesOfOtherUploads(upload);
  }

  /** Returns false if another request took the upload, because this one was not seen for a while. */
  async #remove(upload: SharedUpload): Promise<boolean> {
    const { store, pieces, log } = this.#options;
    upload.hasEnded = true;
    const names = await store.endUpload(this.#ownerOf(upload));
    for (const name of names ?? []) {
      // `expire` deletes what stays.
      const deleting: Promise<unknown> = pieces
        .delete(name)
        .catch((error) => log.warn({ err: error }, 'cannot delete a piece of an upload'))
        .finally(() => this.#deleting.delete(deleting));
      this.#deleting.add(deleting);
    }
    return names !== undefined;
  }

  /** Another process may have ended the upload. */
  async #discardIdle(): Promise<void> {
    const before = this.#now() - SERVER_LIMITS.uploadIdleMilliseconds;
    for (const [id, { usedAt }] of this.#copies) if (usedAt < before) await this.#discard(id);
  }

  async #discard(id: string): Promise<void> {
    const copy = this.#copies.get(id);
    this.#copies.delete(id);
    await copy?.writer.discard();
  }

  #ownerOf({ id, owner }: SharedUpload): UploadOwner {
    if (owner === undefined) throw new Error('the request does not own the upload');
    return { id, owner, at: this.#at() };
  }

  #now(): number {
    return this.#options.clock().getTime();
  }

  #at(later = 0): string {
    return new Date(this.#now() + later).toISOString();
  }
}

/** Many uploads at the same time get smaller pieces, so that they need less memory. */
function pieceBytes(): number {
  const { uploadPieceBytes, minUploadPieceBytes, maxUploadPiecesBytes } = SERVER_LIMITS;
  return waitingBytes < maxUploadPiecesBytes ? uploadPieceBytes : minUploadPieceBytes;
}
