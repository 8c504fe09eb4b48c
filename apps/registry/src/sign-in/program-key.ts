import { generateKeyPairSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, importJWK } from 'jose';

const CURVE = { kty: 'OKP', crv: 'X25519' } as const;
const ALGORITHM = 'ECDH-ES';
const ENCRYPTION = 'A256GCM';

/**
 * Returns the secret of a program, 32 random bytes in base64url, and the public key for it. The page on which a user
 * allows the program to sign in does not know the secret, but can seal something for it: the secret is the private key.
 */
export function newProgramKey(): { secret: string; publicKey: string } {
  const { d, x } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return { secret: d!, publicKey: x! };
}

/** Seals a text so that only the program can read it. */
export async function sealForProgram(publicKey: string, text: string): Promise<string> {
  const key = await importJWK({ ...CURVE, x: publicKey }, ALGORITHM);
  const jwe = new CompactEncrypt(Buffer.from(text)).setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION });
  return jwe.encrypt(key);
}

/** Opens a text that was sealed for the program with this secret. */
export async function openForProgram(
  { secret, publicKey }: { secret: string; publicKey: string },
  sealed: string,
): Promise<string> {
  const key = await importJWK({ ...CURVE, x: publicKey, d: secret }, ALGORITHM);
  const { plaintext } = await compactDecrypt(sealed, key, {
    keyManagementAlgorithms: [ALGORITHM],
    contentEncryptionAlgorithms: [ENCRYPTION],
  });
  return Buffer.from(plaintext).toString('utf8');
}
