import type { SourceAddress } from '@krmhub/catalog';
import type { Platform, ProgramArtifact } from '@krmhub/oci';

/** A file to fetch, such as an executable. It is not verified here. */
export interface DownloadRequest {
  address: SourceAddress;
  /** As in a `FetchRequest`. */
  namedBy?: string;
  maxBytes: number;
  /** For OCI: the kind of artifact. Default: an executable. */
  artifact?: ProgramArtifact;
  /** For OCI: which manifest of an index. */
  platform: Platform;
  signal?: AbortSignal;
  /** Called with the number of received bytes. */
  onProgress?(bytes: number): void;
  /** For OCI: called with each manifest that was read, whose digest is verified. */
  onManifest?(bytes: Uint8Array): Promise<void>;
}

/** Reads the file. It is called again if a temporary failure interrupted the download. */
export type Consume<Result> = (body: AsyncIterable<Uint8Array>) => Promise<Result>;
