import type { SigningPolicy } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { releaseStatement, type Signer, type Statement, signatureStatement } from '@krmhub/signing';
import { describe, expect, it } from 'vitest';
import { type Evidence, judgeEvidence, type Plan, planJudgement, type Subject } from './judge-release.js';

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const [DEFINITION, MANIFEST] = [digest('d'), digest('e')];
const KEY: Signer = { type: 'key', fingerprint: digest('1') };
const OTHER: Signer = { type: 'key', fingerprint: digest('2') };
const NOW = '2026-06-01T00:00:00.000Z';

function policy(changes: Partial<SigningPolicy> = {}, times: object = {}): SigningPolicy {
  const signers = [{ key: 'PEM', fingerprint: digest('1'), ...times }];
  return { name: 'team', groups: ['example.com'], signers, ...changes };
}

const SUBJECT: Subject = {
  definitions: [{ group: 'example.com', kind: 'SetLabels' }],
  definition: DEFINITION,
  release: { name: '1.0.0', by: 'user' },
  manifests: [{ digest: MANIFEST, version: '1.0.0' }],
};
const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
const DIGESTS = { definition: DEFINITION, manifest: MANIFEST };

function bundle(statement: Statement | undefined, signer: Signer = KEY, more: object = {}): Evidence {
  const said = statement === undefined ? {} : { statement };
  return { source: 'bundle', verification: { verified: true, checks: [], signer, ...said, ...more } };
}

function judged(policies: SigningPolicy[], evidence: Evidence[], subject = SUBJECT, options = {}) {
  const plan = planJudgement(policies, subject, options);
  if (plan.judge !== 'release' && plan.judge !== 'bytes') throw new Error(JSON.stringify(plan));
  return judgeEvidence(plan, evidence, NOW);
}

describe('what requires a signature', () => {
  const plan = (changes: Partial<Subject>, policies = [policy()], options = {}) =>
    planJudgement(policies, { ...SUBJECT, ...changes }, options);

  it('is the release of a group that a policy covers', () => {
    expect(plan({})).toMatchObject({ judge: 'release', release: NAME });
  });

  it.each<[string, Plan['judge'], Partial<Subject>, SigningPolicy[]?]>([
    ['no policy at all', 'nothing', {}, []],
    ['another group', 'nothing', { definitions: [{ group: 'other.org', kind: 'SetLabels' }] }],
    ['a release that no policy covers', 'nothing', {}, [policy({ releases: '>=2.0.0' })]],
    [
      'that release, only said by the artifact',
      'refused',
      { release: { name: '1.0.0', by: 'artifact' } },
      [policy({ releases: '>=2.0.0' })],
    ],
    ['a group in other letters', 'release', { definitions: [{ group: 'Example.com', kind: 'SetLabels' }] }],
    ['no release', 'refused', { release: undefined as never }],
    [
      'two definitions',
      'refused',
      { definitions: [...SUBJECT.definitions, { group: 'other.org', kind: 'A' }] },
    ],
    ['what cannot be read', 'refused', { definitions: [], unreadable: 'damaged' }],
    ['what cannot be read, without a policy', 'nothing', { definitions: [], unreadable: 'damaged' }, []],
    ['no definition', 'nothing', { definitions: [] }],
    [
      'no definition, in the repository of a function',
      'refused',
      { definitions: [], repository: { group: 'example.com', kind: 'setlabels' } },
    ],
    ['its own repository', 'release', { repository: { group: 'example.com', kind: 'setlabels' } }],
    ['the repository of another kind', 'refused', { repository: { group: 'example.com', kind: 'other' } }],
    ['the repository of another group', 'refused', { repository: { group: 'other.org', kind: 'setlabels' } }],
    [
      'another group in the repository',
      'refused',
      {
        definitions: [{ group: 'other.org', kind: 'SetLabels' }],
        repository: { group: 'example.com', kind: 'setlabels' },
      },
    ],
  ])('%s: %s', (_, judge, changes, policies = [policy()]) => {
    const subject = { ...SUBJECT, ...changes } as Subject;
    expect(planJudgement(policies, subject).judge).toBe(judge);
  });

  it('can be any artifact if a policy is given, but a definition must be in its groups', () => {
    const other = policy({ name: 'other', groups: ['other.org'] });
    expect(plan({ definitions: [] }, [policy(), other], { policy: 'other' }).judge).toBe('bytes');
    expect(plan({}, [policy(), other], { policy: 'other' }).judge).toBe('refused');
    expect(plan({}, [policy(), other], { policy: 'team' }).judge).toBe('release');
  });
});

describe('whether it is signed', () => {
  const good = bundle(releaseStatement(NAME, DIGESTS));

  it('accepts a signature of this release, and returns the policy', () => {
    expect(judged([policy()], [good])).toMatchObject({
      trusted: true,
      signer: KEY,
      policy: 'team',
      whole: true,
    });
    const alone = bundle(releaseStatement(NAME, { definition: DEFINITION }));
    expect(judged([policy()], [alone])).toMatchObject({ trusted: true, whole: false });
    expect(judged([policy()], [alone, good])).toMatchObject({ trusted: true, whole: true });
  });

  it('accepts a signature of a manifest with the release, also of older cosign versions', () => {
    const plain = bundle(signatureStatement({ manifest: MANIFEST }));
    expect(judged([policy()], [plain]).trusted).toBe(true);
    expect(judged([policy()], [{ ...bundle(undefined), manifest: MANIFEST }]).trusted).toBe(true);
    const unnamed = { ...SUBJECT, manifests: [{ digest: MANIFEST, version: undefined }] };
    expect(judged([policy()], [plain], unnamed).trusted).toBe(false);
  });

  it.each<[string, Evidence[], string]>([
    ['nothing', [], 'it is not signed, but the policy team requires a signature'],
    ['a stranger', [bundle(releaseStatement(NAME, DIGESTS), OTHER)], 'does not allow this signer'],
    ['another release', [bundle(releaseStatement({ ...NAME, release: '9.9.9' }, DIGESTS))], '9.9.9, not'],
    [
      'another kind',
      [bundle(releaseStatement({ ...NAME, kind: 'Other' }, DIGESTS))],
      'example.com/Other@1.0.0',
    ],
    ['bytes alone', [bundle(undefined)], 'does not contain the release'],
    [
      'an attestation',
      [bundle({ ...releaseStatement(NAME, DIGESTS), predicateType: 'https://slsa.dev/provenance/v1' })],
      'not a signature',
    ],
    [
      'what does not hold',
      [
        {
          source: 'b',
          verification: { verified: false, checks: [{ check: 'bundle', passed: false, message: 'cut off' }] },
        },
      ],
      'bundle: cut off',
    ],
    ['two bad ones', [bundle(undefined), bundle(undefined)], 'none of its 2 bundles'],
  ])('refuses %s', (_, evidence, reason) => {
    expect(judged([policy()], evidence)).toMatchObject({
      trusted: false,
      reason: expect.stringContaining(reason),
    });
  });

  it('checks the time of signing against the policy, or the current time if it is not verified', () => {
    const ended = policy({}, { validUntil: '2026-01-01T00:00:00.000Z' });
    expect(judged([ended], [good])).toMatchObject({ trusted: false });
    const early = bundle(releaseStatement(NAME, DIGESTS), KEY, { signedAt: '2025-06-01T00:00:00.000Z' });
    expect(judged([ended], [early]).trusted).toBe(true);
  });

  it('rejects a signer that any policy revokes, even if another policy is given', () => {
    const revoking = policy({ name: 'revoking', groups: ['other.org'] }, { revoked: 'lost' });
    for (const options of [{}, { policy: 'team' }]) {
      expect(judged([policy(), revoking], [good], SUBJECT, options)).toMatchObject({
        trusted: false,
        reason: expect.stringContaining('lost'),
      });
    }
  });

  it('checks bytes against the given policy only', () => {
    const script: Subject = { definitions: [], manifests: [{ digest: MANIFEST, version: undefined }] };
    const plain = bundle(signatureStatement({ manifest: MANIFEST }));
    const other = policy({ name: 'other', signers: [{ key: 'PEM', fingerprint: digest('2') }] });
    expect(judged([policy(), other], [plain], script, { policy: 'team' }).trusted).toBe(true);
    expect(judged([policy(), other], [plain], script, { policy: 'other' }).trusted).toBe(false);
  });
});

describe('a policy that requires several signers and attestations', () => {
  const statement = releaseStatement(NAME, DIGESTS);
  const both: SigningPolicy['signers'] = [KEY, OTHER].map((signer) => ({
    key: 'PEM',
    fingerprint: (signer as { fingerprint: Digest }).fingerprint,
  }));
  const strict = policy({ signers: both, atLeast: 2, attestations: [{ type: 'sbom' }] });
  const sbom = bundle({ ...statement, predicateType: 'https://spdx.dev/Document' });
  const [first, second] = [bundle(statement), bundle(statement, OTHER)];

  it('accepts them together, and names the signers', () => {
    expect(judged([strict], [sbom, second, first])).toMatchObject({
      trusted: true,
      signer: OTHER,
      cosigners: [KEY],
      whole: true,
    });
  });

  it('say of an attestation that it is required, and of another one that it is no signature', () => {
    const other = bundle({ ...statement, predicateType: 'https://example.com/other' });
    const { bundles } = judged([strict], [first, second, sbom, other]);
    expect(
      bundles.map(({ trusted, isRequired, message }) => [trusted, isRequired ?? false, message]),
    ).toEqual([
      [true, false, 'trusted by the policy team'],
      [true, false, 'trusted by the policy team'],
      [true, true, 'required by the policy team: a bill of materials (SPDX or CycloneDX)'],
      [false, false, 'it is an attestation (https://example.com/other), not a signature'],
    ]);
  });

  it.each<[string, Evidence[], string]>([
    ['one signer', [first, sbom], 'requires signatures by 2 of its signers, but the release has only 1'],
    ['one signer twice', [first, first, sbom], 'but the release has only 1'],
    [
      'no attestation',
      [first, second],
      'requires a bill of materials (SPDX or CycloneDX), but the release has none',
    ],
    [
      'the attestation of a stranger',
      [
        first,
        second,
        {
          ...sbom,
          verification: { ...sbom.verification, signer: { type: 'key', fingerprint: digest('9') } },
        },
      ],
      'does not allow this signer',
    ],
    [
      'an attestation that is not verified',
      [first, second, { ...sbom, verification: { ...sbom.verification, verified: false } }],
      'but the release has none',
    ],
  ])('refuses %s', (_, evidence, why) => {
    expect(judged([strict], evidence)).toMatchObject({
      trusted: false,
      reason: expect.stringContaining(why),
    });
  });

  it('is only trusted as a whole if enough signatures cover the manifest', () => {
    const alone = bundle(releaseStatement(NAME, { definition: DEFINITION }), OTHER);
    expect(judged([strict], [first, alone, sbom])).toMatchObject({ trusted: true, whole: false });
  });
});
