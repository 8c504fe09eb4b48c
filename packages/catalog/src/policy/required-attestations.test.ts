import { type Digest, sha256, type TestSummary } from '@krmhub/schema';
import { Random } from '@krmhub/yaml/testing/random';
import { describe, expect, it } from 'vitest';
import type { ReleaseAttestation, Signer } from '../ports/records.js';
import { trustDocument } from '../trust/trust.js';
import { evaluateSignatures } from './evaluate-signatures.js';
import { readSigningPolicies } from './read-signing-policies.js';
import type { RequiredAttestation, SigningPolicy, TrustedSigner } from './signing-policy.js';

const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.2.0' };
const AT = '2030-01-01T00:00:00.000Z';
const BUILDER = 'https://github.com/actions/runner/github-hosted';
const REPOSITORY = 'https://github.com/example/functions';
const key = (name: string): Signer => ({ type: 'key', fingerprint: sha256(name) });
const trusts = (name: string, more: object = {}): TrustedSigner => ({
  key: 'PEM',
  fingerprint: sha256(name) as Digest,
  ...more,
});
const PROVENANCE: RequiredAttestation = { type: 'provenance', builder: BUILDER, repository: REPOSITORY };
const policy = (attestations: RequiredAttestation[], more: Partial<SigningPolicy> = {}): SigningPolicy => ({
  name: 'team',
  groups: ['example.com'],
  signers: [trusts('a')],
  testers: [trusts('tester')],
  attestations,
  ...more,
});
const attested = (more: Partial<ReleaseAttestation>, signer = key('a')): ReleaseAttestation => ({
  predicateType: 'https://example.com/other',
  signer,
  receivedAt: AT,
  ...more,
});
const provenance = (more: object = {}, signer?: Signer) =>
  attested({ provenance: { builder: BUILDER, repository: REPOSITORY, ...more } }, signer);
const tests = (result: TestSummary['result'], signer = key('tester'), receivedAt = AT) =>
  attested(
    { tests: { result, passed: 1, warned: 0, failed: result === 'failed' ? 2 : 0 }, receivedAt },
    signer,
  );
const sbom = (predicateType: string, signer?: Signer) => attested({ predicateType }, signer);

const judge = (one: SigningPolicy, attestations: ReleaseAttestation[], others: SigningPolicy[] = []) =>
  evaluateSignatures([one, ...others], NAME, [{ signer: key('a'), receivedAt: AT }], { attestations })!;
function reason(...given: Parameters<typeof judge>): string {
  const verdict = judge(...given);
  if (verdict.trusted) throw new Error('it is trusted');
  return verdict.reason;
}

describe('a required attestation', () => {
  it.each<[string, RequiredAttestation, ReleaseAttestation]>([
    ['provenance', PROVENANCE, provenance()],
    ['a test report of a tester', { type: 'tests' }, tests('passed')],
    ['a test report of a signer', { type: 'tests' }, tests('warned', key('a'))],
    ['SPDX', { type: 'sbom' }, sbom('https://spdx.dev/Document')],
    ['SPDX of a version', { type: 'sbom' }, sbom('https://spdx.dev/Document/v2.3')],
    ['CycloneDX', { type: 'sbom' }, sbom('https://cyclonedx.org/bom')],
    ['CycloneDX of a version', { type: 'sbom' }, sbom('https://cyclonedx.org/bom/v1.6')],
    [
      'one of other signers',
      { type: 'sbom', signers: [trusts('scanner')] },
      sbom('https://spdx.dev/Document', key('scanner')),
    ],
  ])('is met by %s', (_, required, attestation) => {
    expect(judge(policy([required]), [attestation]).trusted).toBe(true);
    expect(reason(policy([required]), [])).toMatch(/^the policy team requires .*, but the release has none$/);
  });

  it.each<[string, RequiredAttestation, ReleaseAttestation, string]>([
    [
      'another builder',
      PROVENANCE,
      provenance({ builder: 'https://evil' }),
      `builder is "https://evil", expected ${BUILDER}`,
    ],
    [
      'no repository',
      PROVENANCE,
      provenance({ repository: undefined }),
      `repository is missing, expected ${REPOSITORY}`,
    ],
    ['a stranger', PROVENANCE, provenance({}, key('x')), 'the policy team does not allow this signer'],
    ['a tester that is no signer', PROVENANCE, provenance({}, key('tester')), 'does not allow this signer'],
    [
      'a signer of only another type',
      { type: 'sbom', signers: [trusts('s')] },
      sbom('https://spdx.dev/Document'),
      'does not allow this signer',
    ],
    ['failed tests', { type: 'tests' }, tests('failed'), '2 tests failed'],
    [
      'another predicate',
      { type: 'sbom' },
      sbom('https://spdx.dev/Document.evil'),
      'but the release has none',
    ],
    ['a longer predicate', { type: 'sbom' }, sbom('xhttps://spdx.dev/Document'), 'but the release has none'],
  ])('is not met by %s', (_, required, attestation, why) => {
    expect(reason(policy([required]), [attestation])).toContain(why);
  });

  it('has every problem in the message', () => {
    const wrong = provenance({ builder: 'b', repository: 'r' }, key('x'));
    expect(reason(policy([PROVENANCE, { type: 'tests' }, { type: 'sbom' }]), [wrong])).toBe(
      `the policy team requires SLSA provenance: it is signed by the key ${sha256('x')}, but the policy team does not allow this signer; ` +
        `builder is "b", expected ${BUILDER}; repository is "r", expected ${REPOSITORY}; ` +
        'the policy team requires a test report, but the release has none; ' +
        'the policy team requires a bill of materials (SPDX or CycloneDX), but the release has none',
    );
  });

  it('must be of the repository that the certificate of a shared builder names', () => {
    const issuer = 'https://token.actions.githubusercontent.com';
    const subject = 'https://github.com/slsa-framework/generator/.github/workflows/generic.yml@refs/tags/v2';
    const of = (sourceRepositoryURI: string): Signer => ({
      type: 'identity',
      issuer,
      subject,
      source: { sourceRepositoryURI },
    });
    const shared = policy([{ ...PROVENANCE, signers: [{ issuer, subject }] }]);
    expect(judge(shared, [provenance({}, of(REPOSITORY))]).trusted).toBe(true);
    expect(reason(shared, [provenance({}, of('https://github.com/evil/functions'))])).toContain(
      `the repository of its certificate is "https://github.com/evil/functions", expected ${REPOSITORY}`,
    );
  });

  it('is not replaced by another report after a trusted tester reported a failure', () => {
    const later = '2031-01-01T00:00:00.000Z';
    const required = policy([{ type: 'tests' }]);
    expect(judge(required, [tests('failed'), tests('passed', key('tester'), later)]).trusted).toBe(true);
    expect(judge(required, [tests('passed'), tests('failed', key('x'))]).trusted).toBe(true);
    for (const reports of [
      [tests('passed'), tests('failed', key('tester'), later)],
      [tests('passed', key('a')), tests('failed')],
    ]) {
      expect(reason(required, reports)).toContain('2 tests failed');
    }
  });

  it('does not count from a revoked signer', () => {
    const revoking = policy([], {
      name: 'other',
      groups: ['b.c'],
      signers: [trusts('tester', { revoked: 'stolen' })],
    });
    expect(reason(policy([{ type: 'tests' }]), [tests('passed')], [revoking])).toContain(
      'the release has none',
    );
    const testers = [trusts('tester', { revoked: 'stolen' })];
    const elsewhere = policy([], { name: 'other', groups: ['b.c'], testers });
    expect(reason(policy([{ type: 'tests' }]), [tests('passed')], [elsewhere])).toContain(
      'the release has none',
    );
  });

  it('more of them never accept more, in any order', () => {
    const random = new Random(11);
    const some = [
      PROVENANCE,
      { ...PROVENANCE, signers: [trusts('x')] },
      { type: 'tests' },
      { type: 'sbom' },
    ] as RequiredAttestation[];
    const pool = ['a', 'tester', 'x'].flatMap((name) => [
      provenance({}, key(name)),
      provenance({ builder: 'b' }, key(name)),
      tests('passed', key(name)),
      tests('failed', key(name)),
      sbom('https://spdx.dev/Document', key(name)),
    ]);
    let accepted = 0;
    for (let run = 0; run < 3_000; run++) {
      const fewer = random.some(some, 0.4);
      const more = random.shuffled([...fewer, ...random.some(some, 0.3)]);
      const evidence = random.some(pool, 0.5);
      if (!judge(policy(more), evidence).trusted) continue;
      accepted += Number(more.length > fewer.length);
      expect(judge(policy(fewer), random.shuffled(evidence)).trusted).toBe(true);
    }
    expect(accepted).toBeGreaterThan(50);
  });
});

describe('required attestations in a file', () => {
  const signer = { issuer: 'https://token.example.com', subject: 'ci' };
  const document = (attestations: unknown) =>
    JSON.stringify({
      apiVersion: 'krmhub.dev/v1alpha1',
      kind: 'SigningPolicy',
      metadata: { name: 'team' },
      spec: { groups: ['example.com'], signers: [signer], attestations },
    });
  const read = (text: string) => readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');

  it('are read, and survive a round trip', () => {
    const attestations = [
      PROVENANCE,
      { type: 'tests' },
      { type: 'sbom', signers: [{ ...signer, subject: 'scanner' }] },
    ];
    const { policies, diagnostics } = read(document(attestations));
    expect(diagnostics).toEqual([]);
    expect(policies).toMatchObject([{ attestations }]);
    expect(read(JSON.stringify(trustDocument(policies![0]!))).policies).toEqual(policies);
  });

  it.each<[string, unknown]>([
    ['policy/missing-field', []],
    ['policy/missing-field', [{ builder: BUILDER }]],
    ['policy/missing-field', [{ type: 'provenance', builder: BUILDER }]],
    ['policy/missing-field', [{ type: 'sbom', signers: [] }]],
    ['policy/attestation', [{ type: 'https://slsa.dev/provenance/v1' }]],
    ['policy/attestation', [{ type: 'tests', builder: BUILDER }]],
    ['policy/unknown-field', [{ type: 'tests', result: 'passed' }]],
    ['policy/signer', [{ type: 'sbom', signers: [{ subject: 'x' }] }]],
    ['policy/wrong-type', 'sbom'],
    ['policy/wrong-type', [null]],
    ['policy/limit', Array(21).fill({ type: 'sbom' })],
  ])('are refused with %s: %j', (code, attestations) => {
    const { policies, diagnostics } = read(document(attestations));
    expect(policies).toBeUndefined();
    expect(diagnostics.map((one) => one.code)).toContain(code);
    for (const { hint, range } of diagnostics) expect([hint, range]).not.toContain(undefined);
  });
});
