import type { CatalogKind, Digest, Profile } from '@krmhub/schema';
import type { FacetName } from './model.js';
import type { SearchOrder } from './parameters.js';

/** What methods of the client take and give, beside the models of the API. */

export interface SearchRequest extends Partial<Record<FacetName, readonly string[]>> {
  q?: string;
  /** `relevance` where it is absent. */
  sort?: SearchOrder;
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

export interface Document {
  bytes: Uint8Array;
  /** What the registry says that the bytes have; absent where it says nothing. */
  digest?: Digest;
  mediaType: string;
}

export interface CatalogRequest {
  /** A serial or a digest; absent for the newest. */
  snapshot?: string;
  kind?: CatalogKind;
  format?: 'yaml' | 'json';
  /** The dialect of another tool: YAML, without `kind`. */
  profile?: Profile;
}
