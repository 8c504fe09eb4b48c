import type { Digest, FunctionName } from '@krmhub/schema';
import { isDigest, sha256 } from '@krmhub/schema/digest';
import type { EntryForm, EntryRange } from './split-entries.js';

/*
 * An index of the entries of a document: where the bytes of each are, and their digest. It is small and never parsed as
 * a whole: a lookup reads the header and one bucket, and checks both.
 *
 *     krmhub-entries 1 HEADER_LENGTH HEADER_DIGEST\n
 *     HEADER                                           JSON
 *     BUCKET…                                          JSON, one after the other
 */

export interface IndexedEntry extends EntryRange {
  /** Of its bytes. */
  digest: Digest;
}

export interface IndexHeader {
  /** Version of the program that wrote it: another one may read documents in another way. */
  program: string;
  /** Digest of the document that the index belongs to. */
  document: Digest;
  /** Digest of the document that has the entries' bytes: the same, or its entries in normal form. */
  entries: Digest;
  form: EntryForm;
  count: number;
  /** Offset after the header, length, and the first half of the digest of each bucket. */
  buckets: [offset: number, length: number, check: string][];
}

export interface FoundHeader {
  header: IndexHeader;
  /** Of the header, which has the digests of all buckets. */
  digest: Digest;
  /** Offset of the first bucket in the index. */
  start: number;
}

/** Entries of one bucket: a lookup parses some 20 KB. */
const ENTRIES_PER_BUCKET = 128;
const FIRST_LINE = /^krmhub-entries 1 (\d{1,9}) (sha256:[a-f0-9]{64})\n/;
/** Longer than every first line. */
const FIRST_LINE_BYTES = 128;
/** A header of 100,000 entries has 40 KB. */
const MAX_HEADER_BYTES = 16_777_216;

/** Bytes to read at first: the whole header of most catalogs. */
export const HEADER_BYTES = 65_536;

/** The index of a document whose entries are these, in its order. */
export function writeEntryIndex(
  source: Pick<IndexHeader, 'program' | 'document' | 'entries' | 'form'>,
  entries: readonly IndexedEntry[],
): Uint8Array {
  const groups: IndexedEntry[][] = Array.from(
    { length: Math.max(1, Math.ceil(entries.length / ENTRIES_PER_BUCKET)) },
    () => [],
  );
  for (const entry of entries) groups[bucketNumber(entry, groups.length)]!.push(entry);
  let offset = 0;
  const buckets: IndexHeader['buckets'] = [];
  const pieces: Buffer[] = [];
  for (const group of groups) {
    const rows = group.map(({ group, kind, offset, length, digest }) => [
      group,
      kind,
      offset,
      length,
      digest,
    ]);
    const piece = Buffer.from(JSON.stringify(rows));
    buckets.push([offset, piece.byteLength, checksum(piece)]);
    offset += piece.byteLength;
    pieces.push(piece);
  }
  const header: IndexHeader = { ...source, count: entries.length, buckets };
  const text = Buffer.from(JSON.stringify(header));
  const first = Buffer.from(`krmhub-entries 1 ${text.byteLength} ${sha256(text)}\n`);
  return Buffer.concat([first, text, ...pieces]);
}

/**
 * Reads the header from the first bytes of an index. `more` is how many bytes are needed; undefined means that the
 * index is damaged, or of another version, and has to be written again.
 */
export function readIndexHeader(first: Uint8Array): FoundHeader | { more: number } | undefined {
  const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  const line = FIRST_LINE.exec(bytes.toString('latin1', 0, FIRST_LINE_BYTES));
  if (line === null) return undefined;
  const length = Number(line[1]);
  const start = line[0].length + length;
  if (length > MAX_HEADER_BYTES) return undefined;
  if (bytes.byteLength < start) return { more: start };
  const text = bytes.subarray(line[0].length, start);
  const digest = sha256(text);
  if (digest !== line[2]) return undefined;
  const header = JSON.parse(text.toString('utf8')) as IndexHeader;
  // The digest of the header proves that it is whole, and the version that it has these fields.
  return isDigest(header.document) && isDigest(header.entries) ? { header, digest, start } : undefined;
}

/** Returns where the bucket of a function is in the index: the offset and the length of its bytes. */
export function locateBucket(
  { header: { buckets }, start }: FoundHeader,
  name: FunctionName,
): { number: number; offset: number; length: number } {
  return bucketAt(buckets, start, bucketNumber(name, buckets.length));
}

/** Returns where each bucket is in the index. */
export function locateBuckets({
  header: { buckets },
  start,
}: FoundHeader): { number: number; offset: number; length: number }[] {
  return buckets.map((_, number) => bucketAt(buckets, start, number));
}

/** Returns the entries of a bucket; undefined if its bytes are damaged. */
export function readBucket(
  { header }: FoundHeader,
  number: number,
  bytes: Uint8Array,
): IndexedEntry[] | undefined {
  if (checksum(bytes) !== header.buckets[number]?.[2]) return undefined;
  const rows = JSON.parse(new TextDecoder().decode(bytes)) as [string, string, number, number, Digest][];
  return rows.map(([group, kind, offset, length, digest]) => ({ group, kind, offset, length, digest }));
}

function bucketAt(buckets: IndexHeader['buckets'], start: number, number: number) {
  const [offset, length] = buckets[number]!;
  return { number, offset: start + offset, length };
}

/** FNV-1a, which spreads names well enough and is the same everywhere. */
function bucketNumber({ group, kind }: FunctionName, buckets: number): number {
  let hash = 0x811c9dc5;
  const text = `${group}/${kind}`;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % buckets;
}

function checksum(bytes: Uint8Array): string {
  return sha256(bytes).slice('sha256:'.length, 'sha256:'.length + 32);
}
