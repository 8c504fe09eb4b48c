import type { ReleaseBundle, Signer, SigningPolicy } from '@krmhub/catalog';
import type { Digest } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { newKey } from '../../testing/signing.js';
import { signatureLabel, signatureStates, verifyOptions } from './signature-states.js';

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
    expect(signatureStates([], release(), [])).toEqual([{ state: 'unsigned' }]);
    expect(signatureStates([policy()], release(), [])).toEqual([{ state: 'unsigned', wanted: 'team' }]);
    expect(signatureStates([], release(bundle({ claim: 'attestation' })), [])).toEqual([
      { state: 'unsigned' },
    ]);
  });

  it('never reports an unverified signature as verified', () => {
    expect(signatureStates([policy()], release(bundle({})), [])).toMatchObject([{ state: 'unchecked' }]);
  });

  it('reports signer, time and policy', () => {
    const states = signatureStates([policy()], release(bundle({ signer: BY_KEY })), []);
    expect(states).toMatchObject([{ state: 'verified', at: AT, signer: BY_KEY, policy: 'team' }]);
  });

  it('names no policy if none covers the release', () => {
    const [state] = signatureStates([], release(bundle({ signer: BY_IDENTITY })), []);
    expect(state).toMatchObject({ state: 'verified', signer: BY_IDENTITY });
    expect(state).not.toHaveProperty('policy');
  });

  it('gives the reason of a failure: an unknown or a revoked signer', () => {
    const [unknownSigner] = signatureStates([policy()], release(bundle({ signer: BY_IDENTITY })), []);
    expect(unknownSigner).toMatchObject({ state: 'failed', signer: BY_IDENTITY });
    const otherGroup = { ...policy({ revoked: 'lost' }), groups: ['other.example'] };
    const [revoked] = signatureStates([otherGroup], release(bundle({ signer: BY_KEY })), []);
    expect(revoked).toMatchObject({ state: 'failed', reason: expect.stringContaining('lost') });
  });

  it('names unsupported referrers, except for known bundles', () => {
    const others = [{ digest: digest('c') }, { digest: digest('d'), artifactType: 'application/spdx+json' }];
    expect(signatureStates([], release(bundle({ signer: BY_KEY })), others).slice(1)).toEqual([
      { state: 'unsupported', type: 'application/spdx+json', digest: digest('d') },
    ]);
  });
});

describe('signatureLabel', () => {
  it.each([
    ['unsigned', [], []],
    ['not checked', [], [bundle({})]],
    ['signed', [], [bundle({ signer: BY_KEY })]],
    ['verified', [policy()], [bundle({}), bundle({ signer: BY_KEY })]],
    ['not trusted', [policy()], [bundle({ signer: BY_IDENTITY })]],
  ] as const)('is "%s"', (words, policies, bundles) => {
    expect(signatureLabel(policies, release(...bundles)).words).toBe(words);
  });
});

it('verifyOptions name the signer, quoted for a shell', () => {
  expect(verifyOptions(undefined)).toBe('');
  expect(verifyOptions(BY_KEY)).toBe(' --key KEY.pub');
  expect(verifyOptions(BY_IDENTITY)).toBe(
    String.raw` --identity 'o'\''neil@example.com' --issuer https://issuer.example`,
  );
});
