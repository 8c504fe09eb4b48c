import { sha256 } from '@krmhub/schema';
import { readTrustedRoot, releaseStatement, signStatement, verifyBundle } from '@krmhub/signing';
import { keylessSigner } from '@krmhub/signing/keyless';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sigstore, startSigstore } from '../interop/sigstore-stand-in.js';

/** Evidence of one keyless signature beside another one, and trust anchors that were not valid at its time. */

const BUILD = {
  subject: 'https://example.com/team/.ci/build.yaml@refs/tags/v1',
  issuer: 'https://token.example.com',
};
const [FIRST, SECOND] = [sha256('the first definition'), sha256('the second definition')];

interface KeylessBundle {
  verificationMaterial: {
    certificate: unknown;
    tlogEntries: unknown[];
    timestampVerificationData: { rfc3161Timestamps: unknown[] };
  };
  dsseEnvelope: object;
}

let sigstore: Sigstore;
let other: Sigstore;
let first: KeylessBundle;
/** Another signature of the same bytes, by the same identity, with another key. */
let again: KeylessBundle;
let second: KeylessBundle;
let foreign: KeylessBundle;

async function signed(by: Sigstore, definition: typeof FIRST): Promise<KeylessBundle> {
  const { fulcioUrl, rekorUrl, timestampUrl } = by;
  const services = { fulcioUrl, rekorUrl, rekorVersion: 1 as const, timestampUrl };
  const name = { group: 'example.com', kind: 'SetLabels', release: '1.0.0' };
  const signer = keylessSigner(services, by.token(BUILD));
  return JSON.parse(
    Buffer.from(await signStatement(releaseStatement(name, { definition }), signer)).toString(),
  );
}

beforeAll(async () => {
  [sigstore, other] = await Promise.all([startSigstore(), startSigstore()]);
  first = await signed(sigstore, FIRST);
  again = await signed(sigstore, FIRST);
  second = await signed(sigstore, SECOND);
  foreign = await signed(other, FIRST);
});
afterAll(async () => {
  await Promise.all([sigstore?.close(), other?.close()]);
});

function verify(bundle: object, root = sigstore.trustedRoot): string {
  const trust = { keys: [], root: readTrustedRoot(root, 'root.json') };
  const { verified, signer, checks } = verifyBundle(
    Buffer.from(JSON.stringify(bundle)),
    { digests: [FIRST] },
    trust,
  );
  if (!verified) return `${checks.at(-1)!.check}: ${checks.at(-1)!.message}`;
  expect(signer).toEqual({ type: 'identity', ...BUILD });
  return 'verified';
}

function withMaterial(change: (one: KeylessBundle) => object): (one: KeylessBundle) => KeylessBundle {
  return (one) => ({
    ...first,
    verificationMaterial: { ...first.verificationMaterial, ...change(one) },
  });
}

const PARTS: [string, (one: KeylessBundle) => KeylessBundle][] = [
  ['log entry', withMaterial(({ verificationMaterial: { tlogEntries } }) => ({ tlogEntries }))],
  ['certificate', withMaterial(({ verificationMaterial: { certificate } }) => ({ certificate }))],
  [
    'timestamp',
    withMaterial(({ verificationMaterial: { timestampVerificationData } }) => ({
      timestampVerificationData,
    })),
  ],
  ['envelope', ({ dsseEnvelope }) => ({ ...first, dsseEnvelope })],
];

describe('a signature by an identity', () => {
  it('is verified with its own evidence', () => {
    expect(verify(first)).toBe('verified');
    expect(verify(again)).toBe('verified');
  });

  it.each(PARTS)('is refused with the %s of another signature', (_, take) => {
    for (const one of [second, again, foreign]) expect(verify(take(one))).not.toBe('verified');
    expect(verify(take(first))).toBe('verified');
  });

  it.each([
    ['certificate authority', 'certificateAuthorities'],
    ['timestamp authority', 'timestampAuthorities'],
    ['log', 'tlogs'],
    ['log of certificates', 'ctlogs'],
  ])('is refused if its %s was not valid at that time', (_, name) => {
    const past = { start: '2020-01-01T00:00:00Z', end: '2021-01-01T00:00:00Z' };
    const future = { start: '2199-01-01T00:00:00Z' };
    for (const validFor of [past, future]) {
      const root = JSON.parse(sigstore.trustedRoot);
      for (const anchor of root[name]) {
        if ('publicKey' in anchor) anchor.publicKey.validFor = validFor;
        else anchor.validFor = validFor;
      }
      expect(verify(first, JSON.stringify(root))).not.toBe('verified');
    }
  });

  it('is refused if another instance made it', () => {
    expect(verify(foreign)).not.toBe('verified');
    expect(verify(foreign, other.trustedRoot)).toBe('verified');
  });
});
