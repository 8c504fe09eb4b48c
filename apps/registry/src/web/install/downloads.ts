import type { Digest } from '@krmhub/schema';
import type { Executable } from './executables.js';

/** A file that can be downloaded. */
export interface Download {
  name: string;
  size: number;
  digest: Digest;
}

/** What users of this registry can download. */
export interface Downloads {
  version: string;
  /** The npm package; absent if the program is not built. */
  program?: Download;
  executables: readonly Executable[];
  /** Why some files of the operator are not offered. */
  problems: readonly string[];
  /** The list of digests, and its sigstore bundle if it is signed. */
  checksums: { text: string; bundle?: Uint8Array };
}
