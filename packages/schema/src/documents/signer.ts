import type { Digest } from '../digests/digest.js';

/**
 * What a certificate states about the build that signed, by the names of Fulcio: the last number of the extension
 * `1.3.6.1.4.1.57264.1.N` (sigstore/fulcio, "oid-info.md"). The identifiers never belong to another repository or owner;
 * names can be registered again.
 */
export const SOURCE_EXTENSIONS = {
  buildSignerURI: 9,
  buildSignerDigest: 10,
  runnerEnvironment: 11,
  sourceRepositoryURI: 12,
  sourceRepositoryDigest: 13,
  sourceRepositoryRef: 14,
  sourceRepositoryIdentifier: 15,
  sourceRepositoryOwnerURI: 16,
  sourceRepositoryOwnerIdentifier: 17,
  buildConfigURI: 18,
  buildConfigDigest: 19,
  buildTrigger: 20,
  runInvocationURI: 21,
  sourceRepositoryVisibilityAtSigning: 22,
  deploymentEnvironment: 23,
  tokenSubject: 24,
} as const;

/** The source of a signature: text of the CI provider, in which no field is empty. */
export type SourceIdentity = { -readonly [Name in keyof typeof SOURCE_EXTENSIONS]?: string };

/** The signer that a verification found. */
export type Signer =
  | { type: 'key'; fingerprint: Digest }
  | {
      type: 'identity';
      issuer: string;
      subject: string;
      /** Absent if the certificate states nothing about its source, as for people. */
      source?: SourceIdentity;
    };
