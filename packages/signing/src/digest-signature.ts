import type { KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist';

/** Node signs and verifies bytes only; who has nothing but their digest is served by a library. */
const CURVES: Readonly<Record<string, typeof p256>> = {
  prime256v1: p256,
  secp384r1: p384,
  secp521r1: p521,
};

/** Whether somebody signed the bytes of this digest with an ECDSA key; false for keys of other kinds. */
export function verifyDigestSignature(key: KeyObject, digest: Uint8Array, signature: Uint8Array): boolean {
  const curve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (key.asymmetricKeyType !== 'ec' || curve === undefined) return false;
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), ...[x!, y!].map((part) => Buffer.from(part, 'base64url'))]);
  try {
    // Other programs do not take the lower one of the two values that `s` may have, nor do they ask for it.
    return curve.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
