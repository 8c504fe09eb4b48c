import type { FacetName } from './model.js';

export interface SearchRequest extends Partial<Record<FacetName, readonly string[]>> {
  q?: string;
  /** At most 100. */
  limit?: number;
  cursor?: string;
}

export interface PublishRequest {
  group: string;
  kind: string;
  release: string;
  /** The definition's exact bytes. */
  definition: Uint8Array;
  mediaType: 'application/yaml' | 'application/json';
  /** Markdown. */
  readme?: Uint8Array;
  /** Sigstore bundles that speak of the release. */
  bundles?: readonly Uint8Array[];
  /** Plans and stores nothing. */
  dryRun?: boolean;
  /** Publishes what breaks files that were written for the release before. */
  allowBreaking?: boolean;
  /** Answers once every catalog that is to hold the release does. */
  wait?: boolean;
}
