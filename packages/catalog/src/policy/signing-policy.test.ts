import { generateKeyPairSync } from 'node:crypto';
import { type Digest, publicKey, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import type { ReleaseSignature, Signer } from '../ports/records.js';
import { trustDocument } from '../trust/trust.js';
import { evaluateSignatures } from './evaluate-signatures.js';
import { readSigningPolicies } from './read-signing-policies.js';
import { policyKeys, type SigningPolicy, type TrustedSigner } from './signing-policy.js';

const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.2.0' };
const FINGERPRINT: Digest = sha256('a key');
const KEY: Signer = { type: 'key', fingerprint: FINGERPRINT };
const WORKFLOW: Signer = {
  type: 'identity',
  issuer: 'https://token.example.com',
  subject: 'https://example.com/team/release.yaml@refs/tags/v1.2.0',
};

function policy(signers: TrustedSigner[], more: Partial<SigningPolicy> = {}): SigningPolicy {
  return { name: 'team', groups: ['example.com'], signers, ...more };
}

function signature(signer: Signer, more: Partial<ReleaseSignature> = {}): ReleaseSignature {
  return { bundle: sha256('bundle'), signer, receivedAt: '2030-06-01T00:00:00.000Z', ...more };
}

const trustsKey = (more: Omit<TrustedSigner, 'key' | 'fingerprint'> = {}): TrustedSigner => ({
  key: 'PEM',
  fingerprint: FINGERPRINT,
  ...more,
});

describe('a verdict', () => {
  it('is absent if no policy covers the release', () => {
    expect(evaluateSignatures([], NAME, [signature(KEY)])).toBeUndefined();
    const others = [
      policy([trustsKey()], { groups: ['*.example.com'] }),
      policy([trustsKey()], { releases: '>=2.0.0' }),
    ];
    expect(evaluateSignatures(others, NAME, [signature(KEY)])).toBeUndefined();
  });

  it('covers pre-releases of a range', () => {
    const policies = [policy([trustsKey()], { releases: '>=1.0.0' })];
    expect(evaluateSignatures(policies, { ...NAME, release: '2.0.0-rc.1' }, [])).toMatchObject({
      trusted: false,
    });
  });

  it('contains the signer and the policy', () => {
    expect(evaluateSignatures([policy([trustsKey()])], NAME, [signature(KEY)])).toEqual({
      trusted: true,
      signer: KEY,
      cosigners: [],
      policy: 'team',
    });
  });

  it('requires only one valid signature, and one policy', () => {
    const stranger: Signer = { type: 'key', fingerprint: sha256('another') };
    const policies = [
      policy([{ issuer: WORKFLOW.issuer, subject: 'x' }], { name: 'first' }),
      policy([trustsKey()]),
    ];
    const verdict = evaluateSignatures(policies, NAME, [signature(stranger), signature(KEY)], {
      problems: ['one is damaged'],
    });
    expect(verdict).toMatchObject({ trusted: true, policy: 'team' });
  });

  it.each([
    ['nothing', [], [], 'it is not signed, but the policy team requires a signature by the key sha256:'],
    ['a bundle that is not evidence', [], ['a bundle is empty'], 'a bundle is empty'],
    [
      'a stranger',
      [signature({ type: 'key', fingerprint: sha256('x') })],
      [],
      'but the policy team does not allow this signer',
    ],
  ] as const)('refuses %s with its reason', (_, signatures, problems, reason) => {
    const verdict = evaluateSignatures([policy([trustsKey()])], NAME, [...signatures], { problems });
    expect(verdict).toMatchObject({
      trusted: false,
      policy: 'team',
      reason: expect.stringContaining(reason),
    });
  });

  it('matches identities exactly, including the issuer', () => {
    const trusts = [policy([{ issuer: WORKFLOW.issuer, subject: WORKFLOW.subject }])];
    const of = (more: Partial<typeof WORKFLOW>) =>
      evaluateSignatures(trusts, NAME, [signature({ ...WORKFLOW, ...more } as Signer)])?.trusted;
    expect(of({})).toBe(true);
    for (const more of [
      { subject: `${WORKFLOW.subject}x` },
      { subject: WORKFLOW.subject.toUpperCase() },
      { issuer: `${WORKFLOW.issuer}/` },
    ]) {
      expect(of(more)).toBe(false);
    }
  });

  it.each([
    ['^https://example\\.com/team/release\\.yaml@refs/tags/v[0-9.]+$', true],
    ['^https://example\\.com/team/release\\.yaml$', false],
    ['^https://exampleXcom/.*$', false],
    ['^evil$|^https://example\\.com/.*$', true],
  ])('matches the pattern %s against the whole subject', (subjectPattern, trusted) => {
    const trusts = [policy([{ issuer: WORKFLOW.issuer, subjectPattern }])];
    expect(evaluateSignatures(trusts, NAME, [signature(WORKFLOW)])?.trusted).toBe(trusted);
  });

  it.each([
    ['before it begins', { validFrom: '2030-06-01T00:00:00.001Z' }, false],
    ['when it begins', { validFrom: '2030-06-01T00:00:00.000Z' }, true],
    ['before it ends', { validUntil: '2030-06-01T00:00:00.001Z' }, true],
    ['when it ends', { validUntil: '2030-06-01T00:00:00.000Z' }, false],
  ])('holds a signature against the time of its signer: %s', (_, times, trusted) => {
    expect(evaluateSignatures([policy([trustsKey(times)])], NAME, [signature(KEY)])?.trusted).toBe(trusted);
  });

  it('prefers the verified time of signing to the time of arrival', () => {
    const trusts = [policy([trustsKey({ validUntil: '2030-01-01T00:00:00.000Z' })])];
    const early = signature(KEY, { signedAt: '2029-12-31T00:00:00.000Z' });
    expect(evaluateSignatures(trusts, NAME, [early])?.trusted).toBe(true);
    expect(evaluateSignatures(trusts, NAME, [signature(KEY)])).toMatchObject({
      reason: expect.stringContaining('trusted this signer only until 2030-01-01'),
    });
  });

  it('applies a revocation in any policy, even if another policy trusts the signer', () => {
    const revoked = trustsKey({ revoked: 'stolen' });
    for (const policies of [
      [policy([trustsKey(), revoked])],
      [policy([revoked, trustsKey()])],
      [policy([trustsKey()]), policy([revoked], { name: 'elsewhere', groups: ['other.example.com'] })],
    ]) {
      const early = signature(KEY, { signedAt: '2020-01-01T00:00:00.000Z' });
      expect(evaluateSignatures(policies, NAME, [early])).toMatchObject({
        trusted: false,
        reason: expect.stringContaining('revokes this signer: stolen'),
      });
    }
  });

  it('accepts another valid signature next to a revoked one', () => {
    const second: Signer = { type: 'key', fingerprint: sha256('second') };
    const policies = [
      policy([trustsKey({ revoked: 'stolen' }), { key: 'PEM', fingerprint: sha256('second') }]),
    ];
    expect(evaluateSignatures(policies, NAME, [signature(KEY), signature(second)])?.trusted).toBe(true);
  });
});

describe('policies in a file', () => {
  const { pem, fingerprint } = publicKey(
    generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey,
    'key',
  );
  const read = (text: string) => readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
  const document = (spec: string) =>
    `apiVersion: krmhub.dev/v1alpha1\nkind: SigningPolicy\nmetadata: {name: team}\nspec:\n${spec}`;
  const signers = `  signers:\n  - key: |\n${pem.replace(/^/gm, '      ').trimEnd()}\n`;

  it('are read completely, one per document', () => {
    const { policies, diagnostics } = read(
      `${document(`  groups: [example.com, "*.example.com"]\n  releases: ">=1, <2"\n${signers}    validUntil: "2030-01-01T00:00:00Z"\n`)}---\n${document(
        `  groups: ["*"]\n  signers: [{issuer: "https://token.example.com", subject: ci, revoked: gone}]\n`,
      ).replace('team', 'other')}`,
    );
    expect(diagnostics).toEqual([]);
    expect(policies).toEqual([
      {
        name: 'team',
        groups: ['example.com', '*.example.com'],
        releases: expect.any(String),
        signers: [{ key: pem, fingerprint, validUntil: '2030-01-01T00:00:00.000Z' }],
      },
      {
        name: 'other',
        groups: ['*'],
        signers: [{ issuer: 'https://token.example.com', subject: 'ci', revoked: 'gone' }],
      },
    ]);
  });

  it('can list signers of test reports only', () => {
    const testers = '  testers: [{issuer: "https://token.example.com", subject: tests}]\n';
    const { policies } = read(document(`  groups: [a.b]\n${signers}${testers}`));
    expect(policies).toMatchObject([
      { signers: [{ fingerprint }], testers: [{ issuer: 'https://token.example.com', subject: 'tests' }] },
    ]);
    const [policy] = policies!;
    expect(read(JSON.stringify(trustDocument(policy!))).policies).toEqual(policies);
    expect(policyKeys([{ ...policy!, signers: [], testers: policy!.signers }])).toHaveLength(1);
  });

  it.each(['', '\n', '# nothing\n', '---\n', '# a\r\n---\r\n# b'])('are none in %j', (text) => {
    expect(read(text)).toEqual({ policies: [], diagnostics: [] });
  });

  it.each([
    ['policy/document', 'kind: CatalogRecipe\n'],
    ['policy/document', document('  groups: [a.b]\n').replace('v1alpha1', 'v1')],
    ['policy/missing-field', document('  groups: [a.b]\n')],
    ['policy/missing-field', document('  groups: [a.b]\n  signers: []\n')],
    ['policy/missing-field', document(`  groups: []\n${signers}`)],
    ['policy/unknown-field', document(`  groups: [a.b]\n  minimum: 2\n${signers}`)],
    ['policy/group', document(`  groups: ["Example.com"]\n${signers}`)],
    ['policy/release-range', document(`  groups: [a.b]\n  releases: latest\n${signers}`)],
    ['policy/signer', document('  groups: [a.b]\n  signers: [{issuer: "https://a.example"}]\n')],
    ['policy/signer', document('  groups: [a.b]\n  signers: [{subject: a}]\n')],
    [
      'policy/signer',
      document('  groups: [a.b]\n  signers: [{issuer: b, subject: a, subjectPattern: ^a$}]\n'),
    ],
    ['policy/key', document('  groups: [a.b]\n  signers: [{key: nonsense}]\n')],
    ['policy/key', document(`  groups: [a.b]\n${signers}  testers: [{key: nonsense}]\n`)],
    ['policy/missing-field', document(`  groups: [a.b]\n${signers}  testers: []\n`)],
    ['policy/pattern', document('  groups: [a.b]\n  signers: [{issuer: b, subjectPattern: a}]\n')],
    ['policy/pattern', document('  groups: [a.b]\n  signers: [{issuer: b, subjectPattern: "^a\\\\$"}]\n')],
    ['policy/pattern', document('  groups: [a.b]\n  signers: [{issuer: b, subjectPattern: "^(a$"}]\n')],
    [
      'policy/time',
      document('  groups: [a.b]\n  signers: [{issuer: b, subject: a, validFrom: 2030-13-01T00:00:00Z}]\n'),
    ],
    [
      'policy/time',
      document(
        '  groups: [a.b]\n  signers: [{issuer: b, subject: a, validFrom: 2031-01-01T00:00:00Z, validUntil: 2030-01-01T00:00:00Z}]\n',
      ),
    ],
    [
      'policy/name',
      `${document(`  groups: [a.b]\n${signers}`)}---\n${document(`  groups: [a.b]\n${signers}`)}`,
    ],
  ])('are refused with %s', (code, text) => {
    const { policies, diagnostics } = read(text);
    expect(policies).toBeUndefined();
    expect(diagnostics.map((diagnostic) => diagnostic.code)).toContain(code);
    for (const { hint, range } of diagnostics) expect([hint, range]).not.toContain(undefined);
  });

  it('are rejected with too many patterns before one is compiled', () => {
    const text = (documents: number) =>
      Array.from({ length: documents }, (_, at) => {
        const patterns = Array.from(
          { length: 50 },
          (_, of) => `{issuer: a, subjectPattern: "^((a{1,30}){1,30}b${at}c${of})$"}`,
        );
        const list = at % 2 === 0 ? 'signers' : 'signers: [{issuer: a, subject: b}]\n  testers';
        return document(`  groups: [a.b]\n  ${list}: [${patterns.join()}]\n`).replace('team', `team${at}`);
      }).join('---\n');
    expect(read(text(2)).policies).toHaveLength(2);
    const begun = process.cpuUsage();
    const { policies, diagnostics } = read(text(60));
    expect(process.cpuUsage(begun).user).toBeLessThan(10_000_000);
    expect(policies).toBeUndefined();
    expect(diagnostics).toMatchObject([
      { code: 'policy/limit', message: expect.stringContaining('3000 patterns') },
    ]);
  });
});
