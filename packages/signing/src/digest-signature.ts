import type { KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist';

/** Node.js can verify signatures of bytes only, not of a digest, so a library does it. */
const CURVES: Readonly<Record<string, typeof p256>> = {
  prime256v1: p256,
  secp384r1: p384,
  secp521r1: p521,
};

/** Reports whether an ECDSA key signed the bytes with this digest. Returns false for other key types. */
export function verifyDigestSignature(key: KeyObject, digest: Uint8Array, signature: Uint8Array): boolean {
  const curve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (key.asymmetricKeyType !== 'ec' || curve === undefined) return false;
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), ...[x!, y!].map((part) => Buffer.from(part, 'base64url'))]);
  try {
    // Other signers do not normalize `s` to its lower value.
    return curve.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
