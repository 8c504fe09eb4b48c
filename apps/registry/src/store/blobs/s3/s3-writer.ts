import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { BlobWriter } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { translateFileError } from '../folder.js';
import { UnfinishedBlob } from '../unfinished-blob.js';
import type { BlobArea } from './area.js';
import type { BlobCache } from './blob-cache.js';
import { S3_LIMITS } from './limits.js';
import { type Multipart, multipart } from './multipart.js';
import { translateS3Error } from './s3-error.js';
import { storeObject } from './store-object.js';

/**
 * A blob that is written to a file of this process first, because its object name is its digest. `sync` sends the
 * parts of a large blob, so that `commit` is one request.
 */
export class S3Writer implements BlobWriter {
  readonly #target: BlobArea & { cache: BlobCache };
  readonly #maxCached: number;
  readonly #blob: UnfinishedBlob;
  #upload: Multipart | undefined;
  #isDiscarded = false;
  #syncing: Promise<unknown> = Promise.resolve();

  /** @param maxCached Bytes up to which the blob is cached afterwards. */
  constructor(target: BlobArea & { cache: BlobCache }, maxCached: number) {
    this.#target = target;
    this.#maxCached = maxCached;
    const { unfinished } = target.cache;
    this.#blob = new UnfinishedBlob({
      unfinished,
      isTemporary: true,
      ensureShard: committedHere,
      fileOf: committedHere,
    });
  }

  write(...pieces: Uint8Array[]): Promise<void> {
    return this.#translated(() => this.#blob.write(pieces));
  }

  digest(): Digest {
    return this.#blob.digest();
  }

  sync(): Promise<void> {
    const syncing = this.#translated(async () => this.#sendParts(await this.#blob.flushed()));
    this.#syncing = syncing.catch(() => undefined);
    return syncing;
  }

  pieces(): AsyncIterable<Uint8Array> {
    const flushed = () => this.#translated(() => this.#blob.flushed());
    return (async function* () {
      yield* createReadStream(await flushed());
    })();
  }

  inMemory(): Uint8Array | undefined {
    return this.#blob.inMemory();
  }

  /** Rejects after it has removed what was sent. */
  async commit(): Promise<Digest> {
    const { cache, area } = this.#target;
    const digest = this.digest();
    try {
      return await this.#translated(async () => {
        const file = await this.#blob.flushed();
        await this.#sendParts(file);
        const { size } = await stat(file);
        if (this.#upload !== undefined) await this.#upload.complete();
        else await storeObject(this.#target, digest, await readRange(file, 0, size));
        this.#upload = undefined;
        if (size <= this.#maxCached) await cache.adopt(area, digest, file);
        await this.#blob.discard();
        return digest;
      });
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async discard(): Promise<void> {
    this.#isDiscarded = true;
    await this.#blob.discard();
    await this.#syncing;
    await this.#upload?.abort();
    this.#upload = undefined;
  }

  async #sendParts(file: string): Promise<void> {
    const { size } = await stat(file);
    if (this.#upload !== undefined || size <= S3_LIMITS.partBytes || this.#isDiscarded) return;
    const upload = multipart(this.#target, this.digest(), size, (start, end) => readRange(file, start, end));
    this.#upload = upload;
    try {
      await upload.send();
    } catch (error) {
      this.#upload = undefined;
      throw error;
    }
  }

  async #translated<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const { client, cache } = this.#target;
      throw translateFileError(cache.unfinished, translateS3Error(client.place, error));
    }
  }
}

async function readRange(file: string, start: number, end: number): Promise<Uint8Array> {
  const handle = await open(file, 'r');
  try {
    const buffer = Buffer.allocUnsafeSlow(end - start);
    for (let at = 0; at < buffer.byteLength; ) {
      const { bytesRead } = await handle.read(buffer, at, buffer.byteLength - at, start + at);
      if (bytesRead === 0) throw new Error(`the file ends after ${start + at} bytes, expected ${end}`);
      at += bytesRead;
    }
    return buffer;
  } finally {
    await handle.close();
  }
}

function committedHere(): never {
  throw new Error('the blob is not committed to a folder');
}
