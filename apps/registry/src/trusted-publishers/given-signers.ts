import { generateKeyPairSync, type KeyObject, randomBytes, verify } from 'node:crypto';
import type { JsonValue } from '@krmhub/schema';
import type { JWK } from 'jose';
import { checkedKey, publicJwk } from './issuer-keys.js';

/** Which keys signed a token, of those that owners gave. */

/** The algorithms of tokens, with the types of their keys, as Node.js names them. */
const KEY_TYPES = { RS256: 'rsa', ES256: 'ec' } as const;
type Algorithm = keyof typeof KEY_TYPES;
export const ALGORITHMS = Object.keys(KEY_TYPES) as Algorithm[];

const FILLER = { use: 'sig', kid: 'filler' };
/** Keys of nobody. To check a signature with a number takes as long, whether it is the product of two primes or not. */
const FILLERS: Record<Algorithm, () => JsonValue> = {
  RS256: () => {
    const number = randomBytes(256);
    number[0]! |= 0x80;
    number[255]! |= 1;
    return { ...FILLER, kty: 'RSA', n: number.toString('base64url'), e: 'AQAB' };
  },
  ES256: () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { ...FILLER, ...(publicKey.export({ format: 'jwk' }) as Record<string, string>) };
  },
};
const fillers = new Map<Algorithm, JsonValue>();

function fillerFor(algorithm: Algorithm): JsonValue {
  const filler = fillers.get(algorithm) ?? FILLERS[algorithm]();
  fillers.set(algorithm, filler);
  return filler;
}

/**
 * Returns those of some keys that signed a token, as a library for tokens takes them; it must still verify the token. Reads
 * and checks at least so many keys, one of nobody in place of those that are missing: how long it takes tells nothing of
 * groups that the client may not see. Larger keys take longer.
 */
export function findSigners<Given extends { given: JsonValue }>(
  token: string,
  { algorithm, keyId }: { algorithm: string; keyId: string },
  { keys, atLeast }: { keys: readonly Given[]; atLeast: number },
): (Given & { key: JWK })[] {
  const known = ALGORITHMS.find((name) => name === algorithm);
  if (known === undefined) return [];
  const filler = fillerFor(known);
  const end = token.lastIndexOf('.');
  const signed = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  const isSignedBy = (key: KeyObject) => {
    try {
      // JSON Web Signatures have the two numbers of an elliptic curve one after the other (RFC 7518, section 3.4).
      return verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
    } catch {
      return false;
    }
  };
  const nobody = checkedKey(filler)!;
  const signers = keys.flatMap((one) => {
    const key = checkedKey(one.given);
    const isFitting = key?.asymmetricKeyType === KEY_TYPES[known];
    const isSigner = isSignedBy(isFitting ? key : nobody);
    return isFitting && isSigner ? [{ ...one, key: publicJwk(key, keyId) }] : [];
  });
  for (let count = keys.length; count < atLeast; count += 1) isSignedBy(checkedKey(filler) ?? nobody);
  return signers;
}
