import { describe, expect, it } from 'vitest';
import type { ReleaseBundle, Signer } from '../ports/records.js';
import { judgeSignatures, signedParts, verdictLabel, verdictText } from './signature-verdict.js';
import type { SigningPolicy, TrustedSigner } from './signing-policy.js';

const FINGERPRINT = `sha256:${'a'.repeat(64)}` as const;
const DIGEST = `sha256:${'d'.repeat(64)}` as const;
const KEY: Signer = { type: 'key', fingerprint: FINGERPRINT };
const STRANGER: Signer = { type: 'identity', issuer: 'https://issuer.example', subject: 'eve@example.com' };
const NAME = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };

const policy = (more: Partial<TrustedSigner> = {}, groups = ['example.com']): SigningPolicy => ({
  name: 'team',
  groups,
  signers: [{ key: 'PEM', fingerprint: FINGERPRINT, ...more } as TrustedSigner],
});

function bundle(signer: Signer | undefined, more: Partial<ReleaseBundle> = {}): ReleaseBundle {
  return {
    digest: DIGEST,
    size: 1,
    manifest: DIGEST,
    claim: 'signature',
    predicateType: 'https://krmhub.dev/release/v1',
    receivedAt: '2030-01-01T00:00:00.000Z',
    receivedBy: 'publisher',
    ...(signer === undefined ? {} : { signer }),
    ...more,
  };
}

const words = (policies: readonly SigningPolicy[], bundles: ReleaseBundle[], readme?: string) => {
  const parts = signedParts({ bundles, ...(readme === undefined ? {} : { readme }) });
  const verdict = judgeSignatures(policies, NAME, parts);
  return [verdict.state, verdictLabel(verdict), verdictText(verdict)];
};

describe('the verdict on the signatures of a release', () => {
  it.each([
    [[], [], 'unsigned', 'not signed', 'not signed; no registry policy requires a signature'],
    [
      [],
      [bundle(KEY)],
      'signed',
      'signed',
      `signed by the key ${FINGERPRINT}; no registry policy covers the release`,
    ],
    [
      [],
      [bundle(undefined)],
      'not-checked',
      'not checked',
      'not checked: the registry could not identify the key of the signature',
    ],
    [
      [policy()],
      [bundle(undefined), bundle(KEY)],
      'verified',
      'verified',
      `verified as the key ${FINGERPRINT} by the registry policy team`,
    ],
    [
      [policy()],
      [],
      'not-trusted',
      'not trusted',
      `not trusted: it is not signed, but the policy team requires a signature by the key ${FINGERPRINT}`,
    ],
    [
      [policy()],
      [bundle(STRANGER)],
      'not-trusted',
      'not trusted',
      'not trusted: it is signed by eve@example.com (https://issuer.example), but the policy team does not allow this signer',
    ],
    [
      [policy({ revoked: 'stolen' }, ['other.example'])],
      [bundle(KEY)],
      'not-trusted',
      'not trusted',
      `not trusted: it is signed by the key ${FINGERPRINT}, and the policy team revokes this signer: stolen`,
    ],
    [
      [],
      [bundle(KEY, { claim: 'attestation' })],
      'unsigned',
      'not signed',
      'not signed; no registry policy requires a signature',
    ],
  ] as const)('has one state and one wording (%#)', (policies, bundles, ...expected) => {
    expect(words(policies, [...bundles])).toEqual(expected);
  });

  it('counts a valid signature next to a revoked one, if no policy covers the release', () => {
    const revokes = policy({ revoked: 'stolen' }, ['other.example']);
    expect(words([revokes], [bundle(KEY), bundle(STRANGER)])[0]).toBe('signed');
  });

  it('reports that no signature covers the README', () => {
    const partly = words([policy()], [bundle(KEY)], DIGEST);
    expect(partly[1]).toBe('verified, but not the README');
    expect(partly[2]).toMatch(/by the registry policy team; no signature covers the README$/);
    expect(words([policy()], [bundle(KEY, { isWhole: true })], DIGEST)[1]).toBe('verified');
    expect(words([policy()], [bundle(KEY)])[1]).toBe('verified');
    expect(words([], [bundle(KEY)], DIGEST)[1]).toBe('signed, but not the README');
  });

  it('does not count an untrusted signature of the README', () => {
    const bundles = [bundle(KEY), bundle(STRANGER, { isWhole: true })];
    expect(words([policy()], bundles, DIGEST)[1]).toBe('verified, but not the README');
  });
});
