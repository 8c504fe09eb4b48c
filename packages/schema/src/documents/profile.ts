import type { Digest } from '../digests/digest.js';

/** Output dialects for other tools, and the two kinds of the KEP. See the documentation for each. */
export const PROFILES = ['kep', 'kep-schema', 'kustomize-prototype', 'porch', 'kpt-list'] as const;
export type Profile = (typeof PROFILES)[number];

/** Short descriptions of the profiles. */
export const PROFILE_SUMMARIES: Record<Profile, string> = {
  kep: 'kind Catalog, runtime next to versions (text of KEP-2906)',
  'kep-schema': 'kind KRMFunctionCatalog, as in the schema of KEP-2906',
  'kustomize-prototype': 'the fields that the catalog prototype in kustomize reads',
  porch: 'FunctionConfig objects of Porch',
  'kpt-list': 'the kpt function list: images with digests and types',
};

/** A field of one function that a profile does not support. */
export interface UnsupportedValue {
  group: string;
  kind: string;
  /** API version of the functionConfig. Absent if it applies to the whole function. */
  version?: string;
  /**
   * Path of a field, relative to the API version if one is set. Absent if the whole function or API version is omitted.
   */
  field?: string;
  /** The reason, and the replacement if there is one. */
  message: string;
}

/** A field that a profile does not support for any function. */
export interface UnsupportedField {
  /** Path of a field of a definition. */
  field: string;
  message: string;
}

/** `profiles/<profile>.json`: the unsupported fields of a profile of a snapshot. Contains no time. */
export interface ProfileReport {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'ProfileReport';
  catalog: string;
  /** Digest of the catalog.yaml of the snapshot. Absent if it is not a snapshot of a registry. */
  snapshot?: Digest;
  profile: Profile;
  unsaid: UnsupportedField[];
  /** Sorted by function, in catalog order. */
  losses: UnsupportedValue[];
  /** Digest of the bytes of the profile. */
  digest: Digest;
  /** Number of functions with at least one API version in the profile. */
  functions: number;
  /** Number of omitted functions. */
  omitted: number;
}
