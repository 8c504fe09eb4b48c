import type { Event, FunctionChange, SnapshotBuild, SnapshotSignature } from '@krmhub/catalog';
import type { ManifestRecord, NewBlob, OciDigest } from '@krmhub/oci';

/** What a change puts into a repository besides: a manifest of a release, a snapshot or a bundle, under its tags. */
export interface Artifact {
  repository: string;
  tags: readonly string[];
  manifest: ManifestRecord;
  /** What the repository must have before. */
  needed?: readonly OciDigest[];
  /** What the manifest names and the repository may not have yet. */
  blobs: readonly NewBlob[];
}

/** Adds the artifacts of releases of older versions. */
export interface MissingArtifacts {
  /**
   * Of so many releases after one, by their number, those without an artifact, such as an older program stored; and the
   * number of the last that was looked at, undefined after the last of all.
   */
  releasesWithoutArtifact(options: { after: number; limit: number }): Promise<{
    without: { group: string; kind: string; release: string }[];
    last: number | undefined;
  }>;
  /** Stores the artifact of what is there. */
  putArtifact(artifact: Artifact, change: { at: string; by: string }): Promise<void>;
}

/** Replaces signatures of snapshots. */
export interface SignatureRenewer {
  /** As SnapshotStore has it; the artifact takes the place of that of the signature before. */
  renewSignature(signature: SnapshotSignature, artifact?: Artifact): Promise<boolean>;
}

/** Stores snapshots and signatures with their artifacts. */
export interface SnapshotArtifacts extends SignatureRenewer {
  /** As SnapshotStore has it; the artifacts are stored with a new snapshot and its signature, or not at all. */
  commitSnapshot(cut: SnapshotBuild, artifact?: Artifact, signature?: Artifact): Promise<void>;
}

/** Changes of functions that store the artifacts of what they add, all in one transaction. */
export interface FunctionArtifacts {
  /**
   * As FunctionStore has it; artifacts, of the release and its bundles, are stored with the change, or not at all. So
   * are files: exact bytes that the release names and that are no blobs.
   */
  commitFunction(
    change: FunctionChange,
    artifacts?: readonly Artifact[],
    files?: readonly Uint8Array[],
  ): Promise<Event>;
}

/** Changes of functions and catalogs that store the artifacts of what they add. */
export interface ArtifactStore extends MissingArtifacts, FunctionArtifacts, SnapshotArtifacts {}
