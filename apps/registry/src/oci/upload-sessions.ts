import { createHash } from 'node:crypto';
import type { BlobWriter } from '@krmhub/catalog';
import { type OciDigest, OciError } from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** A blob that is being uploaded. */
export interface UploadSession {
  readonly id: string;
  readonly repository: string;
  /** Bytes that have arrived. */
  size: number;
}

/** Receives a body. `refuse` checks the new size before pieces are stored. */
export interface Receiving {
  refuse(size: number): void;
  /** No other request continues the upload. */
  isLast: boolean;
}

export interface VerifiedUpload {
  file: Digest;
  size: number;
  writer: BlobWriter;
  /** The bytes of a small blob, which become a row. The others are on the disk. */
  bytes?: Uint8Array;
}

/** Open uploads of blobs, which several requests make. All failures are OciErrors, or those of the stores. */
export interface UploadSessions<Session extends UploadSession = UploadSession> {
  /** With `isLast`, no other request continues the upload. */
  start(repository: string, token: string, options?: { isLast: boolean }): Promise<Session>;
  find(repository: string, id: string): Promise<Session>;
  /** Runs work with exclusive access to the upload. */
  exclusive<Result>(upload: Session, work: () => Promise<Result>): Promise<Result>;
  /** If a write fails, the upload ends, because its state is unknown. */
  receive(upload: Session, body: AsyncIterable<readonly Uint8Array[]>, receiving: Receiving): Promise<void>;
  /**
   * Ends the upload. Checks its digest, and syncs it to the disk unless it becomes a row. Rejects with an OciError if the
   * digest differs; nothing is stored then.
   */
  verify(upload: Session, digest: OciDigest): Promise<VerifiedUpload>;
  end(upload: Session): Promise<void>;
  /** Returns what reports the bytes of the other open uploads to the same repository. */
  bytesOfOthers(upload: Session): Promise<() => number>;
  /** Ends idle uploads; returns how many. */
  expire(): Promise<number>;
  close(): Promise<void>;
}

/** Verifies the bytes of an upload, and syncs them unless they become a row. Discards them if that fails. */
export async function verifiedUpload(
  writer: BlobWriter,
  { size, bytes }: { size: number; bytes?: Uint8Array | undefined },
  digest: OciDigest,
): Promise<VerifiedUpload> {
  try {
    const file = writer.digest();
    const read = bytes === undefined ? () => writer.pieces() : () => [bytes];
    const actual = digest.startsWith('sha512:') ? await sha512Of(read()) : file;
    if (actual !== digest) {
      throw new OciError('DIGEST_INVALID', `the upload has digest ${actual}, expected ${digest}`, {
        detail: { digest, actual, size },
      });
    }
    if (bytes === undefined) await writer.sync();
    return { file, size, writer, ...defined({ bytes }) };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

async function sha512Of(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<OciDigest> {
  const hash = createHash('sha512');
  for await (const piece of pieces) hash.update(piece);
  return `sha512:${hash.digest('hex')}`;
}

export function uploadUnknown(): OciError {
  return new OciError('BLOB_UPLOAD_UNKNOWN', 'upload not found', {
    hint: 'Start the upload again. Uploads end when they are idle, or when the registry restarts.',
  });
}

export function uploadBusy(): OciError {
  return new OciError('BLOB_UPLOAD_INVALID', 'another request is writing to this upload', {
    status: 409,
    hint: 'Send the chunks one at a time.',
  });
}

/** The limit of open uploads, or of those of one token. */
export function tooManyUploads(limit: number, ofToken: boolean): OciError {
  const what = ofToken ? 'too many open uploads with your token' : 'too many open uploads';
  return new OciError('TOOMANYREQUESTS', `${what}: the limit is ${limit}`, {
    hint: 'Finish or cancel some uploads, or try again later. Idle uploads expire.',
    headers: { 'Retry-After': '10' },
  });
}
