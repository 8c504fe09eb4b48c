import { generateKeyPairSync } from 'node:crypto';
import { publicKey } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { recoverPublicKey } from './recover-key.js';
import { bundleBytes, type TestKey, testBundle, testKey, testStatement } from './testing/bundles.js';

function keyOn(namedCurve: string): TestKey {
  const pair = generateKeyPairSync('ec', { namedCurve });
  return { privateKey: pair.privateKey, publicKey: publicKey(pair.publicKey, 'a key of the test') };
}

describe('recoverPublicKey', () => {
  it.each(['prime256v1', 'secp384r1', 'secp521r1'])('returns the key that signed, on %s', (curve) => {
    for (let round = 0; round < 8; round++) {
      const key = keyOn(curve);
      const recovered = recoverPublicKey(bundleBytes(testBundle(key, testStatement(`text ${round}`))));
      expect(recovered?.fingerprint).toBe(key.publicKey.fingerprint);
    }
  });

  it('returns no key for a signature that names the key of someone else', () => {
    const bundle = testBundle(testKey(), testStatement('text'));
    const victim = testBundle(testKey(), testStatement('text'));
    const forged = { ...bundle, verificationMaterial: victim.verificationMaterial };
    expect(recoverPublicKey(bundleBytes(forged))).toBeUndefined();
  });

  it('returns no key for a signature of another payload', () => {
    const key = testKey();
    const bundle = testBundle(key, testStatement('text'));
    const { payload } = testBundle(key, testStatement('another text')).dsseEnvelope;
    const moved = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
    expect(recoverPublicKey(bundleBytes(moved))).toBeUndefined();
  });

  it('returns no key if the bundle does not name a fingerprint', () => {
    const bundle = testBundle(testKey(), testStatement('text'));
    for (const hint of ['', 'my key', Buffer.alloc(32).toString('base64')]) {
      const unnamed = { ...bundle, verificationMaterial: { publicKey: { hint } } };
      expect(recoverPublicKey(bundleBytes(unnamed))).toBeUndefined();
    }
  });

  it.each([
    ['an empty signature', ''],
    ['zeros', Buffer.from([0x30, 6, 2, 1, 0, 2, 1, 0]).toString('base64')],
    ['small numbers', Buffer.from([0x30, 6, 2, 1, 1, 2, 1, 1]).toString('base64')],
    ['a truncated sequence', Buffer.from([0x30, 6, 2, 1, 1]).toString('base64')],
    ['another encoding', Buffer.alloc(64, 1).toString('base64')],
  ])('returns no key for %s', (_, sig) => {
    const bundle = testBundle(testKey(), testStatement('text'));
    const other = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, signatures: [{ sig }] } };
    expect(recoverPublicKey(bundleBytes(other))).toBeUndefined();
  });

  it('returns no key for an Ed25519 signature and for bytes that are not a bundle', () => {
    const pair = generateKeyPairSync('ed25519');
    const key = { privateKey: pair.privateKey, publicKey: publicKey(pair.publicKey, 'a key') };
    const bundle = testBundle(testKey(), testStatement('text'));
    const named = {
      publicKey: { hint: Buffer.from(key.publicKey.fingerprint.slice(7), 'hex').toString('base64') },
    };
    expect(recoverPublicKey(bundleBytes({ ...bundle, verificationMaterial: named }))).toBeUndefined();
    expect(recoverPublicKey(new Uint8Array())).toBeUndefined();
  });
});
