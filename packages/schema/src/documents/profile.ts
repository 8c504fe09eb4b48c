import type { Digest } from '../digests/digest.js';

/** Output dialects for other tools, and the two kinds of the KEP. See the documentation for each. */
export const PROFILES = ['kep', 'kep-schema', 'kustomize-prototype', 'porch', 'kpt-list'] as const;
export type Profile = (typeof PROFILES)[number];

/** What each is, in a few words. */
export const PROFILE_SUMMARIES: Record<Profile, string> = {
  kep: 'kind Catalog, runtime next to versions, as in the text of KEP-2906',
  'kep-schema': 'kind KRMFunctionCatalog, as in the schema of KEP-2906',
  'kustomize-prototype': 'the fields that the catalog prototype in kustomize reads',
  porch: 'FunctionConfig objects of Porch',
  'kpt-list': 'the kpt function list: images with digests and types',
};

/** What a profile does not say of one function. */
export interface ProfileLoss {
  group: string;
  kind: string;
  /** API version of the functionConfig; absent where it is said of the whole function. */
  version?: string;
  /** Path of a field, below the API version where one is named. Absent: all of it is left out. */
  field?: string;
  /** The reason, and the replacement if there is one. */
  message: string;
}

/** What a profile says of no function at all. */
export interface UnsupportedField {
  /** Path of a field of a definition. */
  field: string;
  message: string;
}

/** `profiles/<profile>.json`: what a snapshot has and a profile of it has not. Holds no time. */
export interface ProfileReport {
  apiVersion: 'krmhub.dev/v1alpha1';
  kind: 'ProfileReport';
  catalog: string;
  /** Digest of the snapshot's catalog.yaml; absent where no registry has cut one. */
  snapshot?: Digest;
  profile: Profile;
  unsaid: UnsupportedField[];
  /** By function, in the order of the catalog. */
  losses: ProfileLoss[];
  /** Digest of the profile's bytes. */
  digest: Digest;
  /** Functions of which there is at least one API version. */
  functions: number;
  /** Functions of which there is none. */
  omitted: number;
}
