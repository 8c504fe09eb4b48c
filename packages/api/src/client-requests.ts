import type { CatalogKind, Digest, Profile } from '@krmhub/schema';
import type { FacetFilters } from '@krmhub/schema/facets';
import type { SearchOrder } from './parameters.js';

/** Parameters and results of the client that are not part of the API models. */

/** For what has a list: it has what the reader may see, so the token is useful. */
export const LIST = { withToken: 'useful' } as const;

/** A POST with a body of JSON. */
export function asJson(body: object) {
  return { method: 'POST', body: JSON.stringify(body), contentType: 'application/json' } as const;
}

export interface SearchRequest extends FacetFilters {
  q?: string;
  /** Default: `relevance`. */
  sort?: SearchOrder;
  /** At most 100. */
  limit?: number;
  cursor?: string;
}

/** Which rows of the audit log to return. Absent parts match all rows. */
export interface AuditRequest {
  /** Name or ID of a token. */
  actor?: string;
  /** An action, or its part before the dot. */
  action?: string;
  /** Beginning of the object. */
  object?: string;
  outcome?: 'done' | 'refused';
  /** RFC 3339. */
  since?: string;
  until?: string;
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
  /** What is new in the release, in Markdown. */
  notes?: string;
  /** Sigstore bundles for the release. */
  bundles?: readonly Uint8Array[];
  /** Validates and plans, but stores nothing. */
  dryRun?: boolean;
  /** Publishes a release that breaks files written for the previous release. */
  allowBreaking?: boolean;
  /** Waits until the catalogs contain the release. */
  wait?: boolean;
}

/** Returns the form of a release with a README or bundles. */
export function publishForm({
  definition,
  mediaType,
  readme,
  notes,
  bundles = [],
}: PublishRequest): FormData {
  const body = new FormData();
  body.append('definition', new Blob([new Uint8Array(definition)], { type: mediaType }), 'definition');
  if (readme !== undefined) {
    body.append('readme', new Blob([new Uint8Array(readme)], { type: 'text/markdown' }), 'README.md');
  }
  if (notes !== undefined) body.append('notes', new Blob([notes], { type: 'text/markdown' }), 'NOTES.md');
  for (const bundle of bundles) {
    body.append('bundle', new Blob([new Uint8Array(bundle)], { type: 'application/json' }), 'bundle.json');
  }
  return body;
}

export interface Document {
  bytes: Uint8Array;
  /** From the ETag; absent if the response has none. */
  digest?: Digest;
  mediaType: string;
}

export interface CatalogRequest {
  /** A serial or a digest. Default: the newest snapshot. */
  snapshot?: string;
  kind?: CatalogKind;
  format?: 'yaml' | 'json';
  /** The dialect of another tool. YAML only; not together with `kind`. */
  profile?: Profile;
}
