import type { Digest, Profile } from '@krmhub/schema';

/** A snapshot in a dialect that another tool reads, as it was written once. */
export interface ProfileForm {
  /** Digest of the snapshot's catalog.yaml. */
  snapshot: Digest;
  profile: Profile;
  /** `ProfileDialect.revision` by which it was written. */
  revision: number;
  /** Of its bytes. */
  digest: Digest;
  /** Of its report. */
  report: Digest;
}

/** Which renditions of snapshots are stored, and in which blobs. */
export interface RenditionStore {
  /** Where a compressed or whole form of a snapshot is kept, by the digest of its identity bytes. */
  storedForm(digest: Digest, coding: 'identity' | 'gzip' | 'br'): Promise<Digest | undefined>;
  rememberForms(
    forms: readonly { digest: Digest; coding: 'identity' | 'gzip' | 'br'; blob: Digest }[],
  ): Promise<void>;
  /** Forgets the forms of these identity digests and gives the blobs that no other form names. */
  forgetForms(digests: readonly Digest[]): Promise<Digest[]>;
  /** Where a profile of a snapshot is kept, by the digest of the snapshot's catalog.yaml. */
  profileForm(snapshot: Digest, profile: Profile): Promise<ProfileForm | undefined>;
  /**
   * Its bytes and its report are remembered as forms before. Forgets those of the one that it replaces, and gives the
   * blobs that no other form names.
   */
  rememberProfileForm(form: ProfileForm): Promise<Digest[]>;
  /** Forgets the profiles of these snapshots with their forms, and gives the blobs that no other form names. */
  forgetProfileForms(snapshots: readonly Digest[]): Promise<Digest[]>;
  /**
   * Forgets the forms and profiles that no snapshot has which is not withdrawn, and gives the blobs that the others name.
   */
  keepStandingForms(): Promise<Set<Digest>>;
}
