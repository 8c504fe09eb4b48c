import type { Digest, FunctionName } from '@krmhub/schema';

/** An entry of a catalog with its rendered text in UTF-8. */
export interface EntryTexts extends FunctionName {
  digest: Digest;
  yaml: Uint8Array;
  json: Uint8Array;
}

/** The syntaxes of catalogs. */
export type CatalogSyntax = 'yaml' | 'json';

/** A segment of the newest snapshot of a catalog. Its name is that of its first entry. */
export interface CatalogSegment extends FunctionName {
  /** Digest of the digests of its entries. */
  digest: Digest;
}

/** The compressed bytes of a segment: raw deflate that ends at a byte, without the end of a stream. */
export interface SegmentContent {
  digest: Digest;
  yaml: Uint8Array;
  json: Uint8Array;
}

/** A segment that a build adds to a catalog. */
export interface AddedSegment extends CatalogSegment {
  /** The lines of its entries in `snapshot.json`, with the text between them. */
  lines: string;
}

/** How the segments of a catalog change with a snapshot. */
export interface SegmentChanges {
  removed: FunctionName[];
  added: AddedSegment[];
  /** Contents of `added` that are not stored yet. */
  contents: SegmentContent[];
}

/** A part of a catalog. */
export interface NameRange {
  /** The first name; absent for the beginning of the catalog. */
  from?: FunctionName;
  /** The name after the last one; absent for the end of the catalog. */
  to?: FunctionName;
}

/** What a response needs to know about a document before its bytes are read. */
export interface DocumentFacts {
  /** Size in bytes. */
  bytes: number;
  /** CRC-32 of the bytes. */
  crc32: number;
}
