import type { Digest } from '@krmhub/schema';

/** Reads blobs into memory. */
export interface BlobBytes {
  /**
   * Returns the bytes; undefined for an unknown blob. Rejects with `internal` if the bytes do not match the digest.
   */
  get(digest: Digest): Promise<Uint8Array | undefined>;
}

/** Reads parts of blobs. */
export interface OpenableBlobs {
  /**
   * Opens a blob to read parts of it; undefined for an unknown blob. A concurrent delete does not affect a read that
   * has started, unless the connection to a store of large blobs breaks. The bytes are not verified.
   */
  open(digest: Digest): Promise<OpenBlob | undefined>;
  /** Returns a URL from which clients can read a blob for some minutes. Absent if they read it from the registry. */
  locate?(digest: Digest): Promise<string>;
}

/** Reads blobs. */
export interface ReadableBlobs extends BlobBytes, OpenableBlobs {
  /**
   * Returns the bytes as a stream, and their size; undefined for an unknown blob. Opens the blob on first read. The
   * last piece arrives only if all bytes match the digest; otherwise, the stream fails with `internal`.
   */
  read(digest: Digest): Promise<{ size: number; pieces: AsyncIterable<Uint8Array> } | undefined>;
}

/** Receives blobs. */
export interface WritableBlobs {
  /** Starts to write a blob that is not completely in memory. */
  write(): Promise<BlobWriter>;
}

/** Finds blobs, and deletes them. */
export interface DeletableBlobs {
  /** Deletes a blob. Deleting an unknown blob is not an error. */
  delete(digest: Digest): Promise<void>;
  /** Returns every blob, unordered. */
  list(): AsyncIterable<Digest>;
}

/** Stores immutable bytes by digest. Every implementation passes test/contracts/blob-store.ts. */
export interface BlobStore extends ReadableBlobs, WritableBlobs, DeletableBlobs {
  /** Stores bytes. Resolves when they survive a power failure. Storing an existing blob is not an error. */
  put(bytes: Uint8Array): Promise<Digest>;
  /** Rejects if the store is not writable. */
  check(): Promise<void>;
  /**
   * Deletes the copies on this machine, of which another process may have deleted the blobs. Absent if there are none.
   */
  deleteCopies?(): Promise<void>;
}

/** An open blob, which stays readable until it is closed. */
export interface OpenBlob {
  /** Size in bytes. */
  size: number;
  /** Each `readInto` is a request to another machine, so that `read` costs less for a whole blob. */
  isRemote?: true;
  /**
   * Streams the bytes from `start` to `end` (exclusive) once. It closes the blob at the end, also if the stream is
   * canceled.
   */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  /** Reads bytes from an offset into a buffer. Returns their number, 0 at the end. */
  readInto(buffer: Uint8Array, position: number): Promise<number>;
  /** Only required if `read` is not used. */
  close(): Promise<void>;
}

/** A blob that is being written. Call either `commit` or `discard` at the end. */
export interface BlobWriter {
  /** Adds bytes. The caller does not change the pieces any more: they may stay in memory. */
  write(...pieces: Uint8Array[]): Promise<void>;
  /** Returns the digest of the written bytes. No more bytes can be written. */
  digest(): Digest;
  /** Syncs the written bytes, so that `commit` is fast. No more bytes can be written. */
  sync(): Promise<void>;
  /** Returns the bytes written so far, before the end. */
  pieces(): AsyncIterable<Uint8Array>;
  /** Returns the bytes of a small blob if all of them are still in memory only, so that no file has to be read. */
  inMemory(): Uint8Array | undefined;
  /** Completes the blob. Resolves when the bytes survive a power failure. */
  commit(): Promise<Digest>;
  discard(): Promise<void>;
}
