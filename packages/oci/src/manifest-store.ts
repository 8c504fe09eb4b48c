import type { RequestOrigin } from '@krmhub/schema';
import type { OciDigest } from './digest.js';

/**
 * What stores the bytes: the folder of pushed blobs, a row for a small pushed blob, or what has the files of
 * releases, the catalogs of snapshots, or their signatures.
 */
export type BlobPlace = 'artifacts' | 'rows' | 'releases' | 'forms' | 'signatures';

/** A blob of a repository, and where its bytes are. */
export interface StoredBlob {
  digest: OciDigest;
  /** sha256 digest that names the file. */
  file: `sha256:${string}`;
  place: BlobPlace;
  /** Bytes. */
  size: number;
}

/** A blob of a repository. */
export interface RepositoryBlob extends StoredBlob {
  /** RFC 3339, UTC: when it was last pushed, mounted, or reported to a pushing client as existing. */
  seenAt: string;
}

/** A blob to be added. Those of the place `rows`, and only those, have their bytes. */
export type NewBlob = Omit<RepositoryBlob, 'seenAt' | 'place'> &
  ({ place: 'rows'; bytes: Uint8Array } | { place: Exclude<BlobPlace, 'rows'>; bytes?: undefined });

/** A descriptor of image-spec: a manifest without its bytes. */
export interface ManifestDescriptor {
  digest: OciDigest;
  mediaType: string;
  /** Bytes. */
  size: number;
  artifactType?: string;
  annotations?: Record<string, string>;
}

/** The position of a blob in the order of all blobs. Empty strings are before the first one. */
export interface BlobPosition {
  repository: string;
  digest: string;
}

/** A manifest with the references that the repository needs to know. */
export interface ManifestRecord extends ManifestDescriptor {
  bytes: Uint8Array;
  subject?: OciDigest;
  /** Digests that the manifest keeps alive: config, layers, manifests of an index. */
  references: readonly OciDigest[];
}

/** Author and time of a change, from where it came, and the quota of the repository. */
export interface Change {
  /** RFC 3339, UTC. */
  at: string;
  by: string;
  origin?: RequestOrigin;
  /** Bytes of blobs and manifests together. Default: unlimited. */
  quota?: number;
}

/** Reads small blobs, which are rows. */
export interface BlobRowReader {
  /**
   * Returns the bytes of a blob of any repository that are a row, by its file; undefined for others. Rejects with
   * `internal` if they do not match.
   */
  rowBytes(file: `sha256:${string}`): Promise<Uint8Array | undefined>;
}

/** Finds files of blobs that are not needed. */
export interface UnreferencedFileFinder {
  /** Returns the files that no repository has in `artifacts`. */
  findUnreferencedFiles(files: readonly `sha256:${string}`[]): Promise<`sha256:${string}`[]>;
}

/** Reads the repositories of an OCI registry. */
export interface ManifestReader extends BlobRowReader, UnreferencedFileFinder {
  /** By tag or digest. */
  manifest(
    repository: string,
    reference: string,
  ): Promise<(ManifestDescriptor & { bytes: Uint8Array }) | undefined>;
  /** The descriptor without annotations, which are in the bytes only. */
  manifestDescriptor(repository: string, reference: string): Promise<ManifestDescriptor | undefined>;
  /** The first 1,000 tags of a manifest, in code unit order. */
  listManifestTags(repository: string, digest: OciDigest): Promise<string[]>;
  /** Tags after `after` in code unit order; undefined for an unknown repository. */
  tags(repository: string, after: string, limit: number): Promise<string[] | undefined>;
  /** Manifests with this subject, sorted by digest, after `after`; only those that `pushedBy` pushed too. */
  referrers(
    repository: string,
    subject: OciDigest,
    options: { artifactType?: string; pushedBy?: string; after: string; limit: number },
  ): Promise<ManifestDescriptor[]>;
  /** Everyone who pushed a manifest that has a subject, by name; empty for other manifests. */
  pushers(repository: string, digest: OciDigest): Promise<string[]>;
  /** Names after `after` in code unit order. */
  repositories(after: string, limit: number): Promise<string[]>;
  /** Returns a text that differs after repositories were added, or removed, unless it were as many of both. */
  repositoriesVersion(): Promise<string>;
  blob(repository: string, digest: OciDigest): Promise<RepositoryBlob | undefined>;
  /** Reports whether a manifest of the repository references the digest. */
  isReferenced(repository: string, digest: OciDigest): Promise<boolean>;
  /** Bytes of blobs and manifests together; 0 for an unknown repository. */
  countBytes(repository: string): Promise<number>;
}

/** Deletes what nothing references any more. */
export interface UnreferencedContent {
  /**
   * Examines up to `limit` blobs after `after`, and deletes those that no manifest references and that were not seen
   * since `seenBefore`. Returns the last examined blob; undefined at the end.
   */
  deleteUnreferencedBlobs(options: {
    seenBefore: string;
    after: BlobPosition;
    limit: number;
  }): Promise<{ forgotten: number; last: BlobPosition | undefined }>;
  /**
   * Deletes manifests that were pushed before a time and are unreachable. Reachable are tagged manifests, manifests of
   * a reachable index, and referrers of a reachable manifest. Releases and snapshots are always reachable.
   */
  deleteUntaggedManifests(options: { pushedBefore: string; at: string }): Promise<number>;
}

/**
 * Stores the repositories of an OCI registry, except the bytes of blobs. Every method is a transaction that is durable
 * when it resolves. Methods reject with KrmhubErrors like the other stores, and with QuotaExceeded. The contract test
 * is test/contracts/manifest-store.ts.
 */
export interface ManifestStore extends ManifestReader, UnreferencedContent {
  /**
   * Stores a manifest and moves the tag to it. An existing manifest gets a new push time. Rejects with
   * UnknownReferences if the repository lacks a digest of `needed`, with `gone` if referenced content was taken down,
   * and with `conflict` if it is new and its subject has `maxReferrers` already.
   */
  putManifest(
    repository: string,
    manifest: ManifestRecord,
    options: Change & { tag?: string; needed: readonly OciDigest[]; maxReferrers?: number },
  ): Promise<void>;
  /** Deletes a manifest and its tags. Returns false if it does not exist. */
  deleteManifest(repository: string, digest: OciDigest, change: Change): Promise<boolean>;
  /** Deletes a tag but not its manifest. Returns false if it does not exist. */
  deleteTag(repository: string, tag: string, change: Change): Promise<boolean>;
  /** Rejects with `gone` if its bytes were taken down. Updates `seenAt` of an existing blob. */
  addBlob(repository: string, blob: NewBlob, change: Change): Promise<void>;
  /** Adds a blob that `from`, or any repository, has. Returns false if none has it. */
  mountBlob(from: string | undefined, to: string, digest: OciDigest, change: Change): Promise<boolean>;
  touchBlob(repository: string, digest: OciDigest, at: string): Promise<void>;
  /** Deletes a blob that no manifest references. */
  deleteBlob(repository: string, digest: OciDigest, change: Change): Promise<'deleted' | 'unknown' | 'named'>;
}

/** A manifest references content that its repository does not have. */
export class UnknownReferences extends Error {
  override readonly name = 'UnknownReferences';
  readonly digests: readonly OciDigest[];
  constructor(digests: readonly OciDigest[]) {
    super(`${digests.join(', ')}: not in the repository`);
    this.digests = digests;
  }
}

/** A change exceeds the quota of the repository. */
export class QuotaExceeded extends Error {
  override readonly name = 'QuotaExceeded';
  readonly bytes: number;
  readonly quota: number;
  constructor(bytes: number, quota: number) {
    super(`${bytes} bytes exceed the quota of ${quota}`);
    this.bytes = bytes;
    this.quota = quota;
  }
}
