import { createHash, createPublicKey } from 'node:crypto';
import { type PublicKey, publicKey, publicKeyHint } from '@krmhub/schema';
import { p256, p384, p521 } from '@noble/curves/nist';
import { dsse } from '@sigstore/core';
import { readBundle } from './read-bundle.js';

const CURVES = [
  { name: 'P-256', curve: p256 },
  { name: 'P-384', curve: p384 },
  { name: 'P-521', curve: p521 },
] as const;

/** An ECDSA signature and a digest determine up to four public keys (SEC 1, 4.1.6). */
const CANDIDATES = [0, 1, 2, 3];

/**
 * Returns the key that signed a bundle, derived from its ECDSA signature. The bundle must name the fingerprint of that
 * key, as those of krmhub and cosign do: other keys can be derived from any signature. Returns undefined for other key
 * types, and if the signature is not by the key that the bundle names.
 */
export function recoverPublicKey(bytes: Uint8Array): PublicKey | undefined {
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return undefined;
  const { content, verificationMaterial: material } = bundle;
  if (material.content.$case !== 'publicKey' || content.$case !== 'dsseEnvelope') return undefined;
  const { hint } = material.content.publicKey;
  const { payload, payloadType, signatures } = content.dsseEnvelope;
  const signature = signatures[0]?.sig;
  if (signature === undefined) return undefined;
  const digest = createHash('sha256').update(dsse.preAuthEncoding(payloadType, payload)).digest();
  for (const { name, curve } of CURVES) {
    const read = attempt(() => curve.Signature.fromBytes(signature, 'der'));
    if (read === undefined) continue;
    for (const candidate of CANDIDATES) {
      const point = attempt(() => read.addRecoveryBit(candidate).recoverPublicKey(digest).toBytes(false));
      const key = point && toPublicKey(name, point);
      if (key !== undefined && publicKeyHint(key) === hint) return key;
    }
    // On a larger curve, numbers as small as these do not occur.
    return undefined;
  }
  return undefined;
}

/** Converts an uncompressed point: a byte, then the coordinates (SEC 1, 2.3.3). */
function toPublicKey(crv: string, point: Uint8Array): PublicKey {
  const size = (point.byteLength - 1) / 2;
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)].map((coordinate) =>
    Buffer.from(coordinate).toString('base64url'),
  );
  const jwk = { kty: 'EC', crv, x: x!, y: y! };
  return publicKey(createPublicKey({ key: jwk, format: 'jwk' }), 'the key of the signature');
}

/** The library throws for values that are not on the curve. */
function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
