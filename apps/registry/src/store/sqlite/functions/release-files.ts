import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Digest, KrmhubError, sha256 } from '@krmhub/schema';
import { SERVER_LIMITS } from '../../../limits.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';

/** A row of `release_file`: the exact bytes of a definition or README as raw deflate. */
interface FileRow {
  digest: Digest;
  bytes: Uint8Array;
}

export interface ReleaseFileWriter {
  /** Stores a file, unless it is stored. Call it in a transaction. */
  add(row: FileRow): void;
  /** Deletes a file that no release names. Call it in a transaction. */
  removeUnnamed(digest: Digest): void;
}

export function fileRow(bytes: Uint8Array): FileRow {
  return { digest: sha256(bytes), bytes: deflateRawSync(bytes) };
}

export function releaseFileWriter({ client }: Pick<Connection, 'client'>): ReleaseFileWriter {
  const insert = prepared(() =>
    client.prepare<FileRow>('INSERT OR IGNORE INTO release_file (digest, bytes) VALUES (:digest, :bytes)'),
  );
  const remove = prepared(() =>
    client.prepare<Pick<FileRow, 'digest'>>(
      `DELETE FROM release_file WHERE digest = :digest
       AND NOT EXISTS (SELECT 1 FROM release WHERE digest = :digest)
       AND NOT EXISTS (SELECT 1 FROM release WHERE readme = :digest)`,
    ),
  );
  return {
    add: (row) => void insert.run(row),
    removeUnnamed: (digest) => void remove.run({ digest }),
  };
}

/** Reads a file that is a row. Rejects with `internal` if the bytes do not match the digest. */
export function releaseFileReader({
  client,
  read,
}: Pick<Connection, 'client' | 'read'>): (digest: Digest) => Promise<Uint8Array | undefined> {
  const stored = prepared(() =>
    client.prepare<[Digest], Buffer>('SELECT bytes FROM release_file WHERE digest = ?').pluck(),
  );
  return async (digest) => {
    const packed = await read(() => stored.get(digest));
    return packed && unpacked(digest, packed);
  };
}

function unpacked(digest: Digest, packed: Uint8Array): Uint8Array {
  let cause: unknown;
  try {
    const bytes = inflateRawSync(packed, { maxOutputLength: SERVER_LIMITS.maxFileRowBytes });
    if (sha256(bytes) === digest) return bytes;
  } catch (error) {
    cause = error;
  }
  throw new KrmhubError('internal', `stored bytes of ${digest} are corrupt: they do not match the digest`, {
    hint: 'Restore them from a backup. To find other damage, run `krmhub fsck`.',
    cause,
  });
}
