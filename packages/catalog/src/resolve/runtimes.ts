import type { Architecture, Digest, OperatingSystem } from '@krmhub/schema';

/** A runtime in which nothing can move: what runs is named by its digest. */
export type PinnedRuntime = PinnedContainer | PinnedExec | PinnedStarlark;

export interface PinnedContainer {
  type: 'container';
  /** `HOST/REPOSITORY@sha256:…`, of an image or of an index of images. */
  image: string;
  /** By platform, for example `linux/amd64`: the digest of its manifest. Absent where the registry was not asked. */
  platforms?: Record<string, Digest>;
  /** The catalog declares that it needs the network; the user has to allow it. */
  network: boolean;
  /** The catalog declares that it needs mounts; the user has to allow them. */
  storage: boolean;
}

export interface PinnedExec {
  type: 'exec';
  platforms: PinnedPlatform[];
}

export interface PinnedPlatform {
  os: OperatingSystem;
  arch: Architecture;
  /** The executable, or its path in the archive. */
  bin: string;
  uri: string;
  /**
   * Digest of what `uri` gives; of the manifest, where `uri` is `oci://…@sha256:…` and the catalog has no digest
   * besides.
   */
  sha256: Digest;
}

export interface PinnedStarlark {
  type: 'starlark';
  /** Without the fragment that pins it. */
  reference: string;
  /** Digest of the script; of the manifest, where `reference` is `oci://…@sha256:…`. */
  sha256: Digest;
}
