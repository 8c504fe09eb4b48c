import { ATTESTATION_TYPES, attestationType } from '@krmhub/schema';
import { plural } from '@krmhub/schema/text';
import { claimProblem, describeProblem } from '../access/trusted-publishers/check-claims.js';
import type { ReleaseAttestation } from '../ports/records.js';
import { evaluateSignature } from './judge-signature.js';
import { newestReports } from './newest-reports.js';
import { type RequiredAttestation, type SigningPolicy, testSigners } from './signing-policy.js';
import { isSameName } from './source-requirements.js';

/** Returns why attestations that a policy requires are missing or do not count; empty if it has all. */
export function attestationProblems(
  policy: SigningPolicy,
  attestations: readonly ReleaseAttestation[],
): string[] {
  const { name, attestations: required = [] } = policy;
  return required.flatMap((one) => {
    const signers = requiredSigners(policy, one);
    const ofType = attestations.filter((attestation) => attestationType(attestation) === one.type);
    const judged = (one.type === 'tests' ? newestReports(ofType) : ofType).map((attestation) => ({
      signed: evaluateSignature({ name, signers }, attestation)?.reason,
      content: contentProblems(one, attestation),
    }));
    // No other report replaces a failure that a trusted tester reported.
    const failed =
      one.type === 'tests'
        ? judged.find(({ signed, content }) => signed === undefined && content.length > 0)
        : undefined;
    const reasons = (failed === undefined ? judged : [failed])
      .map(({ signed, content }) => [...(signed === undefined ? [] : [signed]), ...content])
      .sort((a, b) => a.length - b.length);
    const [closest] = reasons;
    if (closest?.length === 0) return [];
    const wanted = `the policy ${name} requires ${ATTESTATION_TYPES[one.type]}`;
    return [
      closest === undefined ? `${wanted}, but the release has none` : `${wanted}: ${closest.join('; ')}`,
    ];
  });
}

/** Returns what an attestation is that a policy requires, and that is as required; undefined for another one. */
export function requiredAs(policy: SigningPolicy, attestation: ReleaseAttestation): string | undefined {
  const { name, attestations = [] } = policy;
  const met = attestations.find((one) => {
    if (attestationType(attestation) !== one.type) return false;
    const signed = evaluateSignature({ name, signers: requiredSigners(policy, one) }, attestation);
    return signed === undefined && contentProblems(one, attestation).length === 0;
  });
  return met && ATTESTATION_TYPES[met.type];
}

function requiredSigners(policy: SigningPolicy, { signers, type }: RequiredAttestation) {
  return signers ?? (type === 'tests' ? testSigners(policy) : policy.signers);
}

/** Returns what is not as the policy requires it, for any signer. */
function contentProblems(
  required: RequiredAttestation,
  { tests, provenance = {}, signer }: ReleaseAttestation,
): string[] {
  if (required.type !== 'provenance') {
    return tests?.result === 'failed' ? [`${plural(tests.failed, 'test')} failed`] : [];
  }
  const { builder, repository } = required;
  // A shared builder signs for every repository. What it states about the source must be what its certificate says.
  const certified = signer.type === 'identity' ? signer.source?.sourceRepositoryURI : undefined;
  const problems = [
    ...(provenance.builder === builder ? [] : [claimProblem('builder', builder, provenance.builder)]),
    ...(isSameName(provenance.repository, repository)
      ? []
      : [claimProblem('repository', repository, provenance.repository)]),
    ...(certified === undefined || isSameName(certified, repository)
      ? []
      : [claimProblem('the repository of its certificate', repository, certified)]),
  ];
  return problems.map(describeProblem);
}
