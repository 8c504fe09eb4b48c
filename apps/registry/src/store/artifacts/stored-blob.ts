import type { CatalogReader, OpenableBlobs, SnapshotRecord } from '@krmhub/catalog';
import type { ByteRange, ManifestReader, OciDigest, RepositoryBlob } from '@krmhub/oci';
import { type Digest, KrmhubError } from '@krmhub/schema';
import type { Body } from '../../http/bytes-response.js';
import { onePiece } from '../release-files.js';
import { repositoryKind } from './repositories.js';

/** Gives the bytes of a snapshot. */
export interface DocumentSource {
  find(snapshot: SnapshotRecord, rendition: 'catalog.yaml', coding: 'identity'): Promise<{ body: Body }>;
}

export interface StoredBlobDeps {
  store: ManifestReader & CatalogReader;
  /** Definitions and READMEs. */
  blobs: OpenableBlobs;
  /** Blobs that were pushed to repositories, and are not rows. */
  artifacts: OpenableBlobs;
  documents: DocumentSource;
}

/** Bytes to be sent, whole or a part of them. */
export type PartReader = (range: ByteRange) => AsyncIterable<Uint8Array>;

/**
 * Opens the bytes of a blob, wherever they are; undefined where they went a moment ago. They are not checked against
 * their digest: who asked by it checks them, and `krmhub fsck` does.
 */
export async function openStoredBlob(
  { artifacts, blobs, documents, store }: StoredBlobDeps,
  repository: string,
  { file, place, size }: RepositoryBlob,
): Promise<PartReader | undefined> {
  if (place === 'forms') {
    const kind = repositoryKind(repository);
    const snapshot = kind.of === 'catalog' ? await store.snapshot(kind.catalog, file) : undefined;
    if (snapshot === undefined || snapshot.withdrawn !== undefined) return undefined;
    const { body } = await documents.find(snapshot, 'catalog.yaml', 'identity');
    return body instanceof Uint8Array
      ? ({ start, end }) => onePiece(body.subarray(start, end))
      : (range) => slicePieces(body.pieces, range);
  }
  if (place === 'signatures') {
    const kind = repositoryKind(repository);
    const bundle = kind.of === 'catalog' ? await store.signatureBundle(kind.catalog, file) : undefined;
    if (bundle === undefined) return undefined;
    const bytes = new TextEncoder().encode(bundle);
    return ({ start, end }) => onePiece(bytes.subarray(start, end));
  }
  if (place === 'rows') {
    const bytes = await store.rowBytes(file);
    if (bytes !== undefined && bytes.byteLength !== size) throw wrongSize(file, bytes.byteLength, size);
    return bytes && (({ start, end }) => onePiece(bytes.subarray(start, end)));
  }
  const open = await (place === 'artifacts' ? artifacts : blobs).open(file);
  if (open === undefined) return undefined;
  if (open.size !== size) {
    await open.close();
    throw wrongSize(file, open.size, size);
  }
  return ({ start, end }) => open.read(start, end);
}

/** Whether a client pushed the blob: `StoredBlobDeps.artifacts` has its bytes, or its row. */
export function isPushed({ place }: RepositoryBlob): boolean {
  return place === 'artifacts' || place === 'rows';
}

/** The bytes of a small blob, whole; undefined where the repository does not have it. */
export async function storedBytes(
  deps: StoredBlobDeps,
  repository: string,
  digest: OciDigest,
): Promise<Uint8Array | undefined> {
  const blob = await deps.store.blob(repository, digest);
  return blob && readBlobBytes(deps, repository, blob);
}

/** As `openStoredBlob`, for a blob that fits into memory. */
export async function readBlobBytes(
  deps: StoredBlobDeps,
  repository: string,
  blob: RepositoryBlob,
): Promise<Uint8Array | undefined> {
  const read = await openStoredBlob(deps, repository, blob);
  if (read === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for await (const piece of read({ start: 0, end: blob.size })) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}

function wrongSize(file: Digest, actual: number, expected: number): KrmhubError {
  return lost(file, `it has ${actual} bytes, expected ${expected}`);
}

export function lost(file: Digest, why: string): KrmhubError {
  return new KrmhubError('internal', `stored bytes of ${file} are corrupt: ${why}`, {
    hint: 'Restore them from a backup. To find other damage, run `krmhub fsck`.',
  });
}

async function* slicePieces(
  pieces: AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
): AsyncIterable<Uint8Array> {
  let at = 0;
  for await (const piece of pieces) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.byteLength);
    if (from < to) yield piece.subarray(from, to);
    at += piece.byteLength;
    if (at >= end) return;
  }
}
