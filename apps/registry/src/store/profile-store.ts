import type { Digest, Profile } from '@krmhub/schema';

/** A stored snapshot in the dialect of another tool. */
export interface StoredProfile {
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

/** Records which profiles of snapshots and reports of them are stored, and in which blobs. */
export interface ProfileStore {
  /** Returns the blob of a profile or report in a coding, by the digest of its uncompressed bytes. */
  profileBlob(digest: Digest, coding: 'identity' | 'gzip' | 'br'): Promise<Digest | undefined>;
  recordProfileBlobs(
    blobs: readonly { digest: Digest; coding: 'identity' | 'gzip' | 'br'; blob: Digest }[],
  ): Promise<void>;
  /** Returns the profile of a snapshot, by the digest of the snapshot's catalog.yaml. */
  storedProfile(snapshot: Digest, profile: Profile): Promise<StoredProfile | undefined>;
  /**
   * The blobs of the profile and its report must be recorded before. Removes the ones it replaces, and returns the
   * blobs that no other profile uses.
   */
  recordProfile(profile: StoredProfile): Promise<Digest[]>;
  /** Removes the profiles of these snapshots. Returns the blobs that no other profile uses. */
  deleteProfiles(snapshots: readonly Digest[]): Promise<Digest[]>;
  /** Removes profiles that only withdrawn snapshots and purged catalogs have. Returns the other blobs. */
  deleteWithdrawnProfiles(): Promise<Set<Digest>>;
}
