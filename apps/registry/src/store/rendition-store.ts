import type { Digest, Profile } from '@krmhub/schema';

/** A stored snapshot in the dialect of another tool. */
export interface ProfileRendition {
  /** Digest of the snapshot's catalog.yaml. */
  snapshot: Digest;
  profile: Profile;
  /** `ProfileDialect.revision` of the program that wrote it. */
  revision: number;
  /** Digest of its bytes. */
  digest: Digest;
  /** Digest of its report. */
  report: Digest;
}

/** Records which renditions of snapshots are stored, and in which blobs. */
export interface RenditionStore {
  /** Returns the blob of a rendition in a coding, by the digest of its uncompressed bytes. */
  renditionBlob(digest: Digest, coding: 'identity' | 'gzip' | 'br'): Promise<Digest | undefined>;
  recordRenditions(
    forms: readonly { digest: Digest; coding: 'identity' | 'gzip' | 'br'; blob: Digest }[],
  ): Promise<void>;
  /** Removes the renditions with these uncompressed digests. Returns the blobs that no other rendition uses. */
  deleteRenditions(digests: readonly Digest[]): Promise<Digest[]>;
  /** Returns the profile of a snapshot, by the digest of the snapshot's catalog.yaml. */
  profileRendition(snapshot: Digest, profile: Profile): Promise<ProfileRendition | undefined>;
  /**
   * Its bytes and its report must be recorded as renditions before. Removes the ones it replaces, and returns the
   * blobs that no other rendition uses.
   */
  recordProfileRendition(form: ProfileRendition): Promise<Digest[]>;
  /** Removes the profiles of these snapshots with their renditions. Returns the blobs that no other rendition uses. */
  deleteProfileRenditions(snapshots: readonly Digest[]): Promise<Digest[]>;
  /** Removes renditions and profiles that only withdrawn snapshots and purged catalogs have. Returns the other blobs. */
  deleteWithdrawnRenditions(): Promise<Set<Digest>>;
}
