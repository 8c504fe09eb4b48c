import type { OciDigest } from './digest.js';

/** Where the bytes of a blob are: pushed here, a file of a release, a form of a snapshot, or its signature. */
export type BlobPlace = 'artifacts' | 'releases' | 'forms' | 'signatures';

/** A blob as one repository has it. */
export interface RepositoryBlob {
  digest: OciDigest;
  /** sha256 digest by which its bytes are kept. */
  file: `sha256:${string}`;
  place: BlobPlace;
  /** Bytes. */
  size: number;
  /** RFC 3339, UTC: when it was pushed, mounted, or somebody who pushes was last told that it is there. */
  seenAt: string;
}

/** What is told of a manifest without its bytes: a descriptor of image-spec. */
export interface ManifestDescriptor {
  digest: OciDigest;
  mediaType: string;
  /** Bytes. */
  size: number;
  artifactType?: string;
  annotations?: Record<string, string>;
}

/** A blob's place in the order of all; empty texts stand before the first. */
export interface BlobPosition {
  repository: string;
  digest: string;
}

/** A manifest and what it means to its repository. */
export interface ManifestRecord extends ManifestDescriptor {
  bytes: Uint8Array;
  subject?: OciDigest;
  /** What it names and lives as long as it: configuration, layers, manifests of an index. */
  references: readonly OciDigest[];
}

/** Who changes something, when, and how many bytes the repository may then have. */
export interface Change {
  /** RFC 3339, UTC. */
  at: string;
  by: string;
  /** Bytes of blobs and manifests together; absent for any number. */
  quota?: number;
}

/**
 * Repositories of an OCI registry, all but the bytes of their blobs. Methods are transactions, durable when they
 * resolve; they reject with a KrmhubError as those of other stores do, and with QuotaExceeded. Proved by
 * test/contracts/manifest-store.ts.
 */
export interface ManifestStore {
  /** By tag or digest. */
  manifest(
    repository: string,
    reference: string,
  ): Promise<(ManifestDescriptor & { bytes: Uint8Array }) | undefined>;
  /** The same without the bytes; neither has annotations, which the bytes hold. */
  manifestDescriptor(repository: string, reference: string): Promise<ManifestDescriptor | undefined>;
  /**
   * Keeps a manifest, and moves a tag to it where one is given; one that is there counts as pushed now. Rejects with UnknownReferences where `needed` names
   * what the repository does not have, and with `gone` where something that it names was taken down.
   */
  putManifest(
    repository: string,
    manifest: ManifestRecord,
    options: Change & { tag?: string; needed: readonly OciDigest[] },
  ): Promise<void>;
  /** The tags that name it go too. False where there is none. */
  deleteManifest(repository: string, digest: OciDigest): Promise<boolean>;
  /** The manifest stays. False where there is no such tag. */
  deleteTag(repository: string, tag: string): Promise<boolean>;
  /** Tags that name the manifest, in code unit order; the first 1,000. */
  listManifestTags(repository: string, digest: OciDigest): Promise<string[]>;
  /** In code unit order, after a tag; undefined for an unknown repository. */
  tags(repository: string, after: string, limit: number): Promise<string[] | undefined>;
  /** Manifests whose subject is the digest, by digest, after one of them. */
  referrers(
    repository: string,
    subject: OciDigest,
    options: { artifactType?: string; after: string; limit: number },
  ): Promise<ManifestDescriptor[]>;
  /** Names in code unit order, after one. */
  repositories(after: string, limit: number): Promise<string[]>;

  blob(repository: string, digest: OciDigest): Promise<RepositoryBlob | undefined>;
  /** Rejects with `gone` where its bytes were taken down. A blob that is there is seen anew. */
  addBlob(repository: string, blob: Omit<RepositoryBlob, 'seenAt'>, change: Change): Promise<void>;
  /** From a repository, or from any that has it; false where none does. */
  mountBlob(from: string | undefined, to: string, digest: OciDigest, change: Change): Promise<boolean>;
  touchBlob(repository: string, digest: OciDigest, at: string): Promise<void>;
  /** Whether a manifest of the repository names the digest. */
  isReferenced(repository: string, digest: OciDigest): Promise<boolean>;
  /** What a manifest names is not deleted. */
  deleteBlob(repository: string, digest: OciDigest): Promise<'deleted' | 'unknown' | 'named'>;
  /** Bytes of blobs and manifests together; 0 for an unknown repository. */
  countBytes(repository: string): Promise<number>;

  /**
   * Forgets, of so many blobs after one, those that no manifest names and nobody saw since. Gives the last that was
   * looked at; undefined after the last of all.
   */
  deleteUnreferencedBlobs(options: {
    seenBefore: string;
    after: BlobPosition;
    limit: number;
  }): Promise<{ forgotten: number; last: BlobPosition | undefined }>;
  /**
   * Forgets manifests pushed before a time that are not alive: alive is what a tag names, what a living index names,
   * and what has a living subject. Releases and snapshots are always alive.
   */
  deleteUntaggedManifests(options: { pushedBefore: string }): Promise<number>;
  /** Which of these files no repository has in `artifacts`. */
  findUnreferencedFiles(files: readonly `sha256:${string}`[]): Promise<`sha256:${string}`[]>;
}

/** A manifest that names what its repository does not have. */
export class UnknownReferences extends Error {
  override readonly name = 'UnknownReferences';
  readonly digests: readonly OciDigest[];
  constructor(digests: readonly OciDigest[]) {
    super(`${digests.join(', ')}: not in the repository`);
    this.digests = digests;
  }
}

/** The repository would have more bytes than it may. */
export class QuotaExceeded extends Error {
  override readonly name = 'QuotaExceeded';
  readonly bytes: number;
  readonly quota: number;
  constructor(bytes: number, quota: number) {
    super(`${bytes} bytes where ${quota} are allowed`);
    this.bytes = bytes;
    this.quota = quota;
  }
}
