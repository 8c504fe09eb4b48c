import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type Digest, DOCUMENT_LIMITS, KrmhubError, sha256 } from '@krmhub/schema';
import { eq, sql } from 'drizzle-orm';
import type { ReadSql } from '../../sql/sql.js';
import { query, type StatementCall, text, type Work } from '../../sql/statement.js';
import { releaseFiles } from '../schema/release-files.js';

/** A row of `release_file`: the exact bytes of a definition or README as raw deflate. */
type FileRow = Omit<typeof releaseFiles.$inferSelect, 'id'>;

/** Condition of a file that no release names. */
export const IS_UNUSED_FILE = `NOT EXISTS (SELECT 1 FROM release WHERE digest = release_file.digest)
  AND NOT EXISTS (SELECT 1 FROM release WHERE readme = release_file.digest)`;

/** Deletes rows that only damage or another program can leave. */
export const DELETE_UNUSED_FILES = `DELETE FROM release_file WHERE ${IS_UNUSED_FILE}`;

/**
 * Memory of a compression, most of which goes to its start: with the default, compressing a few kilobytes takes half as
 * long again, and is no better.
 */
const SMALL = { windowBits: 13, memLevel: 7 };

export function fileRow(bytes: Uint8Array): FileRow {
  const isSmall = bytes.byteLength <= 2 ** SMALL.windowBits;
  return { digest: sha256(bytes), bytes: deflateRawSync(bytes, isSmall ? SMALL : {}) };
}

const insert = text<never>(
  `INSERT INTO release_file (digest, bytes) VALUES (:digest, :bytes)
    ON CONFLICT (digest) DO UPDATE SET bytes = excluded.bytes WHERE release_file.bytes <> excluded.bytes`,
);
const removeUnnamed = text<never>(`${DELETE_UNUSED_FILES} AND digest = :digest`);
const stored = query((db) =>
  db
    .select({ bytes: releaseFiles.bytes })
    .from(releaseFiles)
    .where(eq(releaseFiles.digest, sql.placeholder('digest'))),
);

/** Stores a file, also in place of a damaged row. */
export function addFile(row: FileRow): StatementCall {
  return insert.later({ ...row });
}

/** Deletes a file that no release names. */
export function* removeUnnamedFile(digest: Digest): Work<void> {
  yield* removeUnnamed.run({ digest });
}

/** Reads a file that is a row. Rejects with `internal` if the bytes do not match the digest. */
export function releaseFileReader({ readOne }: ReadSql): (digest: Digest) => Promise<Uint8Array | undefined> {
  return async (digest) => {
    const row = await readOne(() => stored.first({ digest }));
    return row && unpacked(digest, row.bytes);
  };
}

const named = {
  blobs: text<{ one: number }>(
    `SELECT 1 AS one FROM release WHERE NOT EXISTS (SELECT 1 FROM release_file WHERE digest = release.digest)
       OR (readme IS NOT NULL AND NOT EXISTS (SELECT 1 FROM release_file WHERE digest = readme)) LIMIT 1`,
  ),
  artifacts: text<{ one: number }>(`SELECT 1 AS one FROM oci_blob WHERE place = 'artifacts' LIMIT 1`),
};

/** Reports whether a release or a repository names a file that is not a row. */
export function fileNames({ readOne }: ReadSql): (part: 'blobs' | 'artifacts') => Promise<boolean> {
  return async (part) => (await readOne(() => named[part].first())) !== undefined;
}

function unpacked(digest: Digest, packed: Uint8Array): Uint8Array {
  let cause: unknown;
  try {
    // Not the limit of new rows: a version with a lower one reads those that exist.
    const bytes = inflateRawSync(packed, { maxOutputLength: DOCUMENT_LIMITS.maxDefinitionBytes });
    if (sha256(bytes) === digest) return bytes;
  } catch (error) {
    cause = error;
  }
  throw new KrmhubError('internal', `stored bytes of ${digest} are corrupt: they do not match the digest`, {
    hint: 'Restore them from a backup. To find other damage, run `krmhub fsck`.',
    cause,
  });
}
