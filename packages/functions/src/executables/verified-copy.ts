import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';

export interface CopyRequest {
  from: string;
  /** A new file in a folder that only this user can write. */
  to: string;
  sha256: Digest;
  mode: number;
  maxBytes: number;
  /** What is copied, for messages. */
  name: string;
}

const PIECE_BYTES = 1_048_576;

/**
 * Copies a file and computes the digest of the very bytes that it writes: what happens to the original later, or
 * meanwhile, changes nothing. Returns the copy, open for reading. Rejects with `digest-mismatch`, and with `too-large`.
 */
export async function copyVerified({
  from,
  to,
  sha256,
  mode,
  maxBytes,
  name,
}: CopyRequest): Promise<FileHandle> {
  // A named pipe must not block this process.
  const source = await open(from, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await source.stat()).isFile()) {
      throw new KrmhubError('invalid-request', `cannot install ${name}: ${from} is not a regular file`);
    }
    const copy = await open(to, 'wx+', mode);
    try {
      const actual = await copyPieces(source, copy, { maxBytes, name });
      if (actual !== sha256) throw mismatch(name, sha256, actual);
      return copy;
    } catch (error) {
      await copy.close();
      throw error;
    }
  } finally {
    await source.close();
  }
}

async function copyPieces(
  source: FileHandle,
  copy: FileHandle,
  { maxBytes, name }: { maxBytes: number; name: string },
): Promise<Digest> {
  const hash = createHash('sha256');
  let size = 0;
  const stream = source.createReadStream({ autoClose: false, highWaterMark: PIECE_BYTES });
  for await (const piece of stream as AsyncIterable<Buffer>) {
    size += piece.byteLength;
    if (size > maxBytes) {
      throw new KrmhubError('too-large', `cannot install ${name}: it has more than ${maxBytes} bytes`);
    }
    hash.update(piece);
    await copy.writeFile(piece);
  }
  return `sha256:${hash.digest('hex')}`;
}

function mismatch(name: string, expected: Digest, actual: Digest): KrmhubError {
  return new KrmhubError(
    'digest-mismatch',
    `the digest of ${name} does not match: expected ${expected}, got ${actual}`,
    { hint: 'Do not run it. Ask its publisher why the content changed.' },
  );
}
