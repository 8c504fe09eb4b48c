/** What an attestation of a test run says. Policies decide whether its signer is trusted. */
export interface TestSummary {
  result: 'passed' | 'warned' | 'failed';
  /** Number of tests that passed. */
  passed: number;
  warned: number;
  failed: number;
  /** The names of the first failed tests: foreign text. Absent if none failed, or none is named. */
  failedTests?: string[];
  /** RFC 3339 in UTC with milliseconds: when the tests ended, by the clock of the tester. */
  finishedAt?: string;
}

/** What SLSA provenance says about a build. Policies decide whether its signer is trusted. Foreign text. */
export interface ProvenanceSummary {
  /** ID of the builder. */
  builder?: string;
  /** URL of the source repository. */
  repository?: string;
}

/** What policies can require of an attestation. */
export interface AttestationSummary {
  /** Present if it is a test result. */
  tests?: TestSummary;
  /** Present if it is SLSA provenance. */
  provenance?: ProvenanceSummary;
}

/** Kinds of attestations that a policy can require, with words for messages. */
export const ATTESTATION_TYPES = {
  provenance: 'SLSA provenance',
  tests: 'a test report',
  sbom: 'a bill of materials (SPDX or CycloneDX)',
} as const;

export type AttestationType = keyof typeof ATTESTATION_TYPES;

/** SPDX and CycloneDX, of any version (in-toto attestation, "Predicates"; cosign). */
const SBOM_PREDICATE = /^https:\/\/(?:spdx\.dev\/Document|cyclonedx\.org\/bom)(?:\/v?[\d.]+)?$/;

/** Returns the type of an attestation for policies; undefined for others. */
export function attestationType({
  predicateType,
  tests,
  provenance,
}: AttestationSummary & { predicateType: string }): AttestationType | undefined {
  if (tests !== undefined) return 'tests';
  if (provenance !== undefined) return 'provenance';
  return SBOM_PREDICATE.test(predicateType) ? 'sbom' : undefined;
}
