import { createHash, randomUUID } from 'node:crypto';
import type { BlobStore, BlobWriter } from '@krmhub/catalog';
import { type OciDigest, OciError } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { SERVER_LIMITS } from '../limits.js';

/**
 * A blob that is being uploaded. Its bytes are in a file that no one reads yet, and are hashed as they
 * arrive.
 */
export interface Upload {
  id: string;
  repository: string;
  /** ID of the token that started it. */
  token: string;
  /** Bytes that have arrived. */
  size: number;
  /** Time of the last byte, in milliseconds since 1970. */
  movedAt: number;
  /** A request is writing to it. */
  busy: boolean;
  writer: BlobWriter;
}

interface UploadOptions {
  blobs: Pick<BlobStore, 'write'>;
  clock: () => Date;
  maxUploads?: number;
  maxUploadsOfToken?: number;
  idleMilliseconds?: number;
}

/**
 * Open uploads. They live as long as the process, because the state of a hash cannot be stored. The next
 * start removes the files of an earlier process.
 */
export class Uploads {
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

  /** Returns the bytes of open uploads to a repository. */
  bytesFor(repository: string): number {
    let bytes = 0;
    for (const upload of this.#open.values()) if (upload.repository === repository) bytes += upload.size;
    return bytes;
  }

  async start(repository: string, token: string): Promise<Upload> {
    const { maxUploads, maxUploadsOfToken } = this.#options;
    if (this.#open.size + this.#starting.length >= maxUploads) {
      throw tooMany(`too many open uploads: the limit is ${maxUploads}`);
    }
    const own = [...this.#starting, ...[...this.#open.values()].map((upload) => upload.token)];
    if (own.filter((one) => one === token).length >= maxUploadsOfToken) {
      throw tooMany(`too many open uploads with your token: the limit is ${maxUploadsOfToken}`);
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

  find(repository: string, id: string): Upload {
    const upload = this.#open.get(id);
    if (upload === undefined || upload.repository !== repository) {
      throw new OciError('BLOB_UPLOAD_UNKNOWN', 'upload not found', {
        hint: 'Start the upload again. Uploads end when they are idle, or when the registry restarts.',
      });
    }
    return upload;
  }

  /** Runs work with exclusive access to the upload. */
  async exclusive<Result>(upload: Upload, work: () => Promise<Result>): Promise<Result> {
    if (upload.busy) {
      throw new OciError('BLOB_UPLOAD_INVALID', 'another request is writing to this upload', {
        status: 409,
        hint: 'Send the chunks one at a time.',
      });
    }
    upload.busy = true;
    try {
      return await work();
    } finally {
      upload.busy = false;
      upload.movedAt = this.#now();
    }
  }

  /**
   * Receives the body of a request. `refuse` checks the new size before pieces are written. If a write
   * fails, the upload ends, because its state is unknown.
   */
  async receive(
    upload: Upload,
    body: AsyncIterable<readonly Uint8Array[]>,
    refuse: (size: number) => void,
  ): Promise<void> {
    for await (const pieces of body) {
      const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
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

  /**
   * Checks the digest of an upload and syncs it to the disk. Rejects with an OciError if the digest differs;
   * nothing is stored then.
   */
  async verify(
    upload: Upload,
    digest: OciDigest,
  ): Promise<{ file: Digest; size: number; writer: BlobWriter }> {
    const { writer, size } = upload;
    try {
      const file = writer.digest();
      const actual = digest.startsWith('sha512:') ? await sha512Of(writer.pieces()) : file;
      if (actual !== digest) {
        throw new OciError('DIGEST_INVALID', `the upload has digest ${actual}, expected ${digest}`, {
          detail: { digest, actual, size },
        });
      }
      await writer.sync();
      return { file, size, writer };
    } catch (error) {
      await writer.discard();
      throw error;
    } finally {
      this.#open.delete(upload.id);
    }
  }

  async end(upload: Upload): Promise<void> {
    this.#open.delete(upload.id);
    await upload.writer.discard();
  }

  /** Ends idle uploads; returns how many. */
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

async function sha512Of(pieces: AsyncIterable<Uint8Array>): Promise<OciDigest> {
  const hash = createHash('sha512');
  for await (const piece of pieces) hash.update(piece);
  return `sha512:${hash.digest('hex')}`;
}

function tooMany(message: string): OciError {
  return new OciError('TOOMANYREQUESTS', message, {
    hint: 'Finish or cancel some uploads, or try again later. Idle uploads expire.',
    headers: { 'Retry-After': '10' },
  });
}
