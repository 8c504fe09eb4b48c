import { randomUUID } from 'node:crypto';
import type { BlobWriter, WritableBlobs } from '@krmhub/catalog';
import type { OciDigest } from '@krmhub/oci';
import { SERVER_LIMITS } from '../limits.js';
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

/**
 * A blob that is being uploaded. Its bytes are in a file that no one reads yet, and are hashed as they
 * arrive.
 */
interface Upload extends UploadSession {
  /** ID of the token that started it. */
  token: string;
  /** Time of the last byte, in milliseconds since 1970. */
  movedAt: number;
  /** A request is writing to it. */
  busy: boolean;
  writer: BlobWriter;
}

interface UploadOptions {
  blobs: WritableBlobs;
  clock: () => Date;
  /** Bytes of the largest blob that becomes a row. */
  maxRowBytes: number;
  maxUploads?: number;
  maxUploadsOfToken?: number;
  idleMilliseconds?: number;
}

/**
 * Open uploads of the only process. They live as long as it, because the state of a hash cannot be stored. The next
 * start removes the files of an earlier process.
 */
export class Uploads implements UploadSessions<Upload> {
  readonly #options: Required<UploadOptions>;
  readonly #open = new Map<string, Upload>();
  /** Tokens whose uploads are waiting for their file. */
  #starting: string[] = [];

  constructor(options: UploadOptions) {
    this.#options = {
      maxUploads: SERVER_LIMITS.maxUploads,
      maxUploadsOfToken: SERVER_LIMITS.maxUploadsOfToken,
      idleMilliseconds: SERVER_LIMITS.uploadIdleMilliseconds,
      ...options,
    };
  }

  get count(): number {
    return this.#open.size;
  }

  /** Includes what arrives later. */
  async bytesOfOthers({ id, repository }: Upload): Promise<() => number> {
    return () => {
      let bytes = 0;
      for (const other of this.#open.values()) {
        if (other.repository === repository && other.id !== id) bytes += other.size;
      }
      return bytes;
    };
  }

  async start(repository: string, token: string): Promise<Upload> {
    const { maxUploads, maxUploadsOfToken } = this.#options;
    if (this.#open.size + this.#starting.length >= maxUploads) {
      throw tooManyUploads(maxUploads, false);
    }
    const own = [...this.#starting, ...[...this.#open.values()].map((upload) => upload.token)];
    if (own.filter((one) => one === token).length >= maxUploadsOfToken) {
      throw tooManyUploads(maxUploadsOfToken, true);
    }
    this.#starting.push(token);
    try {
      const writer = await this.#options.blobs.write();
      const upload = {
        id: randomUUID(),
        repository,
        token,
        size: 0,
        movedAt: this.#now(),
        busy: false,
        writer,
      };
      this.#open.set(upload.id, upload);
      return upload;
    } finally {
      this.#starting.splice(this.#starting.indexOf(token), 1);
    }
  }

  async find(repository: string, id: string): Promise<Upload> {
    const upload = this.#open.get(id);
    if (upload === undefined || upload.repository !== repository) throw uploadUnknown();
    return upload;
  }

  async exclusive<Result>(upload: Upload, work: () => Promise<Result>): Promise<Result> {
    if (upload.busy) throw uploadBusy();
    upload.busy = true;
    try {
      return await work();
    } finally {
      upload.busy = false;
      upload.movedAt = this.#now();
    }
  }

  async receive(
    upload: Upload,
    body: AsyncIterable<readonly Uint8Array[]>,
    { refuse }: Pick<Receiving, 'refuse'>,
  ): Promise<void> {
    for await (const pieces of body) {
      const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
      countBuffers(bytes);
      try {
        refuse(upload.size + bytes);
        await upload.writer.write(...pieces);
      } catch (error) {
        await this.end(upload);
        throw error;
      }
      upload.size += bytes;
      upload.movedAt = this.#now();
    }
  }

  async verify({ id, writer, size }: Upload, digest: OciDigest): Promise<VerifiedUpload> {
    try {
      const bytes = size <= this.#options.maxRowBytes ? writer.inMemory() : undefined;
      return await verifiedUpload(writer, { size, bytes }, digest);
    } finally {
      this.#open.delete(id);
    }
  }

  async end(upload: Upload): Promise<void> {
    this.#open.delete(upload.id);
    await upload.writer.discard();
  }

  async expire(): Promise<number> {
    const before = this.#now() - this.#options.idleMilliseconds;
    const still = [...this.#open.values()].filter(({ busy, movedAt }) => !busy && movedAt < before);
    for (const upload of still) await this.end(upload);
    return still.length;
  }

  async close(): Promise<void> {
    for (const upload of [...this.#open.values()]) await this.end(upload);
  }

  #now(): number {
    return this.#options.clock().getTime();
  }
}
