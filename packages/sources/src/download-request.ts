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
  /** For OCI: called with each manifest that was read, whose digest is verified, and who asked. */
  onManifest?(bytes: Uint8Array, actor?: string): Promise<void>;
}

/**
 * Reads the file. It is called again if a temporary failure interrupted the download. `actor` is who asked, if the
 * response was for credentials.
 */
export type Consume<Result> = (body: AsyncIterable<Uint8Array>, actor?: string) => Promise<Result>;
