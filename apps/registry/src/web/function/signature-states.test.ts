import type { ReleaseBundle, Signer, SigningPolicy } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { newKey } from '../../testing/signing.js';
import { releaseVerdict, signatureLabel, signatureStates, verifyOptions } from './signature-states.js';

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const AT = '2026-01-02T03:04:05.000Z';
const key = newKey();
const BY_KEY: Signer = { type: 'key', fingerprint: key.fingerprint };
const BY_IDENTITY: Signer = {
  type: 'identity',
  issuer: 'https://issuer.example',
  subject: "o'neil@example.com",
};

function bundle(more: Partial<ReleaseBundle>): ReleaseBundle {
  return {
    digest: digest('b'),
    size: 1,
    manifest: digest('c'),
    claim: 'signature',
    predicateType: 'x',
    receivedAt: AT,
    receivedBy: 'somebody',
    ...more,
  };
}
const policy = (more: Partial<SigningPolicy['signers'][number]> = {}): SigningPolicy => ({
  name: 'team',
  groups: ['example.com'],
  signers: [{ key: key.pem, fingerprint: key.fingerprint, ...more } as SigningPolicy['signers'][number]],
});
const release = (...bundles: ReleaseBundle[]) => ({
  group: 'example.com',
  kind: 'SetLabels',
  release: '1.0.0',
  bundles,
});

describe('signatureStates', () => {
  it('reports an unsigned release, and whether a policy requires a signature', () => {
    expect(signatureStates([], release(), [])).toEqual([{ state: 'judged', verdict: { state: 'unsigned' } }]);
    expect(signatureStates([policy()], release(), [])).toMatchObject([
      {
        verdict: {
          state: 'not-trusted',
          policy: 'team',
          reason: expect.stringContaining('it is not signed'),
        },
      },
    ]);
    expect(signatureStates([], release(bundle({ claim: 'attestation' })), [])).toMatchObject([
      { verdict: { state: 'unsigned' } },
    ]);
  });

  it('judges each signature alone', () => {
    const bundles = [bundle({ signer: BY_IDENTITY }), bundle({ signer: BY_KEY })];
    expect(signatureStates([policy()], release(...bundles), [])).toMatchObject([
      { verdict: { state: 'not-trusted', signer: BY_IDENTITY }, bundle: bundles[0] },
      { verdict: { state: 'verified', signer: BY_KEY, policy: 'team' }, bundle: bundles[1] },
    ]);
  });

  it('names unsupported referrers, except for known bundles', () => {
    const others = [{ digest: digest('c') }, { digest: digest('d'), artifactType: 'application/spdx+json' }];
    expect(signatureStates([], release(bundle({ signer: BY_KEY })), others).slice(1)).toEqual([
      { state: 'unsupported', type: 'application/spdx+json', digest: digest('d') },
    ]);
  });
});

describe('signatureLabel', () => {
  const label = (policies: readonly SigningPolicy[], ...bundles: ReleaseBundle[]) =>
    signatureLabel(releaseVerdict(policies, { ...release(...bundles), readme: digest('e') }));

  it('names the signer of a valid signature only', () => {
    const by = `the key ${key.fingerprint}`;
    expect(label([], bundle({ signer: BY_KEY, isWhole: true }))).toMatchObject({ words: 'signed', by });
    expect(label([policy({ revoked: 'lost' })], bundle({ signer: BY_KEY }))).not.toHaveProperty('by');
  });

  it('warns about a README that no signature covers', () => {
    expect(label([policy()], bundle({ signer: BY_KEY, isWhole: true })).tone).toBe('good');
    expect(label([policy()], bundle({ signer: BY_KEY }))).toMatchObject({
      words: 'verified, but not the README',
      tone: 'warning',
    });
  });
});

it('verifyOptions name the signer, quoted for a shell', () => {
  expect(verifyOptions(undefined)).toBe('');
  expect(verifyOptions(BY_KEY)).toBe(' --key KEY.pub');
  expect(verifyOptions(BY_IDENTITY)).toBe(
    String.raw` --identity 'o'\''neil@example.com' --issuer https://issuer.example`,
  );
});
