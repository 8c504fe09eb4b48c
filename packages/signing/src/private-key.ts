import { createPrivateKey, generateKeyPair, type KeyObject, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { KrmhubError, MAX_KEY_LENGTH, type PublicKey, publicKey } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa';
import { z } from 'zod';
import { SIGNING_LIMITS } from './limits.js';

/**
 * Key files have the format of cosign, so that both programs can use them: PEM with JSON that contains an encrypted
 * PKCS #8 key (go-securesystemslib, `encrypted`: scrypt and NaCl secretbox).
 */
const LABEL = 'ENCRYPTED SIGSTORE PRIVATE KEY';
const PEM_BLOCK =
  /-----BEGIN (ENCRYPTED (?:SIGSTORE|COSIGN) PRIVATE KEY)-----\s([A-Za-z0-9+/=\s]+)-----END \1-----/;
const SCRYPT = { N: 65_536, r: 8, p: 1 };
const KEY_BYTES = 32;
const NONCE_BYTES = 24;

const Envelope = z.object({
  kdf: z.object({
    name: z.literal('scrypt'),
    params: z.object({
      N: z
        .int()
        .min(1_024)
        .max(1_048_576)
        .refine((n) => (n & (n - 1)) === 0),
      r: z.int().min(1).max(32),
      p: z.int().min(1).max(16),
    }),
    salt: z.base64(),
  }),
  cipher: z.object({ name: z.literal('nacl/secretbox'), nonce: z.base64() }),
  ciphertext: z.base64(),
});

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt);

export interface KeyPair {
  /** PEM, encrypted with the password. Store it in a file that only the owner can read. */
  privateKey: string;
  publicKey: PublicKey;
}

/** Generates an ECDSA P-256 key pair. An empty password is allowed, but protects nothing. */
export async function generateKeys(password: string): Promise<KeyPair> {
  const pair = await promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' });
  const der = pair.privateKey.export({ type: 'pkcs8', format: 'der' });
  return {
    privateKey: await encryptKey(der, password),
    publicKey: publicKey(pair.publicKey, 'the new key'),
  };
}

/**
 * Reads a private key in the format of cosign, or PEM of openssl. Calls `password` only for an encrypted key. Throws
 * `invalid-document` for an invalid key, `usage` for a wrong password. Errors never contain text of the key.
 */
export async function readPrivateKey(
  text: string,
  name: string,
  password: () => Promise<string>,
): Promise<KeyObject> {
  if (text.length > MAX_KEY_LENGTH) throw invalidKey(name);
  const sealed = PEM_BLOCK.exec(text)?.[2];
  const key =
    sealed === undefined
      ? await readPem(text, name, password)
      : await decryptKey(sealed, name, await password());
  if (key.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new KrmhubError('invalid-document', `${name} is not an ECDSA P-256 key`, {
      hint: 'Create one with `krmhub keygen`.',
    });
  }
  return key;
}

async function encryptKey(der: Buffer, password: string): Promise<string> {
  const salt = randomBytes(KEY_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const key = await derive(password, salt, KEY_BYTES, { ...SCRYPT, maxmem: SIGNING_LIMITS.maxScryptBytes });
  const body = Buffer.from(
    JSON.stringify({
      kdf: { name: 'scrypt', params: SCRYPT, salt: salt.toString('base64') },
      cipher: { name: 'nacl/secretbox', nonce: nonce.toString('base64') },
      ciphertext: Buffer.from(xsalsa20poly1305(key, nonce).encrypt(der)).toString('base64'),
    }),
  ).toString('base64');
  return `-----BEGIN ${LABEL}-----\n${body.replace(/.{1,64}/g, '$&\n')}-----END ${LABEL}-----\n`;
}

async function decryptKey(sealed: string, name: string, password: string): Promise<KeyObject> {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(sealed, 'base64').toString('utf8'));
  } catch (cause) {
    throw invalidKey(name, cause);
  }
  const { data } = Envelope.safeParse(json);
  if (data === undefined) throw invalidKey(name);
  const { kdf, cipher, ciphertext } = data;
  const nonce = Buffer.from(cipher.nonce, 'base64');
  const memory = 128 * kdf.params.N * kdf.params.r;
  if (nonce.length !== NONCE_BYTES || memory > SIGNING_LIMITS.maxScryptBytes) throw invalidKey(name);
  const key = await derive(password, Buffer.from(kdf.salt, 'base64'), KEY_BYTES, {
    ...kdf.params,
    // Node.js needs a little more memory than the scrypt table.
    maxmem: memory + 33_554_432,
  });
  let der: Uint8Array;
  try {
    der = xsalsa20poly1305(key, nonce).decrypt(Buffer.from(ciphertext, 'base64'));
  } catch {
    throw wrongPassword(name);
  }
  try {
    return createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' });
  } catch {
    throw invalidKey(name);
  }
}

async function readPem(text: string, name: string, password: () => Promise<string>): Promise<KeyObject> {
  if (!/-----BEGIN (EC |RSA |ENCRYPTED )?PRIVATE KEY-----/.test(text)) {
    throw text.includes('-----BEGIN PUBLIC KEY-----') ? publicKeyGiven(name) : invalidKey(name);
  }
  const isEncrypted = text.includes('BEGIN ENCRYPTED PRIVATE KEY') || text.includes('Proc-Type: 4,ENCRYPTED');
  if (!isEncrypted) {
    try {
      return createPrivateKey(text);
    } catch {
      throw invalidKey(name);
    }
  }
  const passphrase = await password();
  try {
    return createPrivateKey({ key: text, passphrase });
  } catch {
    throw wrongPassword(name);
  }
}

function wrongPassword(name: string): KrmhubError {
  return new KrmhubError('usage', `wrong password for ${name}`, {
    hint: 'Enter it at the prompt, or set KRMHUB_KEY_PASSWORD or COSIGN_PASSWORD.',
  });
}

function publicKeyGiven(name: string): KrmhubError {
  return new KrmhubError('invalid-document', `${name} is a public key, expected a private key`, {
    hint: 'Use the file with the extension .key.',
  });
}

function invalidKey(name: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `${name} is not a private key`, {
    hint: 'Use a key from `krmhub keygen` or `cosign generate-key-pair`, or a PEM file.',
    ...defined({ cause }),
  });
}
