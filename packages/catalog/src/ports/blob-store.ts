import type { Digest } from '@krmhub/schema';

/** Immutable bytes by their digest. Every implementation passes test/contracts/blob-store.ts. */
export interface BlobStore {
  /** Resolves once the bytes survive a power cut. Storing an existing blob is not an error. */
  put(bytes: Uint8Array): Promise<Digest>;
  /** Undefined where there is no such blob; rejects with `internal` where the bytes no longer match the digest. */
  get(digest: Digest): Promise<Uint8Array | undefined>;
  /** For bytes that are not all in memory. */
  write(): Promise<BlobWriter>;
  /**
   * The bytes in pieces, and how many they are; undefined where there is no such blob. Nothing is opened before
   * the pieces are asked for. The last one comes only when all of them match the digest; else they end with an
   * `internal` error.
   */
  read(digest: Digest): Promise<{ size: number; pieces: AsyncIterable<Uint8Array> } | undefined>;
  /**
   * Opens a blob to read parts of it. A concurrent delete does not affect the reader. The bytes are not checked
   * against the digest. Undefined where there is no such blob.
   */
  open(digest: Digest): Promise<OpenBlob | undefined>;
  /** Deleting a missing blob is not an error. */
  delete(digest: Digest): Promise<void>;
  /** Every blob there is, in no order. */
  list(): AsyncIterable<Digest>;
  /** Rejects where the store cannot be written. */
  check(): Promise<void>;
}

/** A blob that stays readable until it is closed. */
export interface OpenBlob {
  /** Bytes. */
  size: number;
  /** The bytes from `start` up to and without `end`, once; it closes the blob at its end, also where it is broken off. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  /** Puts bytes from a place on into a buffer, and gives how many; 0 at the end. */
  readInto(buffer: Uint8Array, position: number): Promise<number>;
  /** Needed only if `read` is not used. */
  close(): Promise<void>;
}

/** A blob that is being written; either `commit` or `discard` ends it. */
export interface BlobWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** The digest of what was written so far; nothing is written after it. */
  digest(): Digest;
  /** Brings what was written to the disk, so that `commit` has little left to do; nothing is written after it. */
  sync(): Promise<void>;
  /** What was written so far, to be read before the end. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Resolves once the bytes survive a power cut. */
  commit(): Promise<Digest>;
  discard(): Promise<void>;
}
