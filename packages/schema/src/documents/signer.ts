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

/**
 * What signing policies can require of the source of a keyless signature, by the fields of a signer. The names are those
 * of trusted publishers.
 */
export const SOURCE_REQUIREMENTS = {
  repository: { meaning: 'URL of the repository', example: 'https://github.com/example/functions' },
  repositoryId: { meaning: 'ID of the repository, which no other one ever has', example: '123456' },
  owner: { meaning: 'URL of the owner of the repository', example: 'https://github.com/example' },
  ownerId: { meaning: 'ID of the owner, which no other one ever has', example: '654321' },
  ref: { meaning: 'branch or tag; `*` matches any characters', example: 'refs/tags/v*' },
  workflow: {
    meaning: 'URL of the file of the workflow that started the build, or of the reusable one that signed',
    example: 'https://github.com/example/functions/.github/workflows/release.yml',
  },
  trigger: { meaning: 'event that started the build', example: 'push' },
  environment: { meaning: 'deployment environment of the job', example: 'release' },
  runnerEnvironment: { meaning: 'where the job ran', example: 'github-hosted' },
} as const;

export type SourceField = keyof typeof SOURCE_REQUIREMENTS;

/** The requirements of a signer. All of them must be met. */
export type SourceRequirements = { [Field in SourceField]?: string };

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
