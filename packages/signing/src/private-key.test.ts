import { generateKeyPairSync, scryptSync, sign, verify } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa';
import { expect, it } from 'vitest';
import { generateKeys, readPrivateKey } from './private-key.js';

const password = 'correct horse battery staple';
const typed = (text: string) => async () => text;
const neverAsked = async () => {
  throw new Error('nothing needs a password here');
};
const pem = (label: string, json: unknown) =>
  `-----BEGIN ${label}-----\n${Buffer.from(JSON.stringify(json)).toString('base64')}\n-----END ${label}-----\n`;
const LABEL = 'ENCRYPTED SIGSTORE PRIVATE KEY';

it('reads a generated key, which signs for its public key', async () => {
  const { privateKey, publicKey } = await generateKeys(password);
  expect(privateKey).toMatch(new RegExp(`^-----BEGIN ${LABEL}-----\n`));
  expect(privateKey).not.toContain(password);
  const key = await readPrivateKey(privateKey, 'a.key', typed(password));
  const signature = sign('sha256', Buffer.from('hello'), key);
  expect(verify('sha256', Buffer.from('hello'), publicKey.key, signature)).toBe(true);
});

it('encrypts with an empty password, with a new salt each time', async () => {
  const [one, two] = [await generateKeys(''), await generateKeys('')];
  expect(one.publicKey.fingerprint).not.toBe(two.publicKey.fingerprint);
  await expect(readPrivateKey(one.privateKey, 'a.key', typed(''))).resolves.toBeDefined();
});

it('reports a wrong password without printing it', async () => {
  const { privateKey } = await generateKeys(password);
  const refused = readPrivateKey(privateKey, 'a.key', typed('guess'));
  await expect(refused).rejects.toMatchObject({
    code: 'usage',
    message: 'wrong password for a.key',
    hint: expect.stringContaining('KRMHUB_KEY_PASSWORD'),
  });
  await expect(refused).rejects.not.toThrow(/guess/);
});

it('reads the older label of cosign', async () => {
  const { privateKey } = await generateKeys(password);
  const older = privateKey.replaceAll('SIGSTORE', 'COSIGN');
  await expect(readPrivateKey(older, 'a.key', typed(password))).resolves.toBeDefined();
});

it('reads keys of openssl and asks for a password only if they are encrypted', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const plain = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await expect(readPrivateKey(plain, 'a.pem', neverAsked)).resolves.toBeDefined();
  const older = String(privateKey.export({ type: 'sec1', format: 'pem' }));
  await expect(readPrivateKey(older, 'a.pem', neverAsked)).resolves.toBeDefined();
  const sealed = String(
    privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: password }),
  );
  await expect(readPrivateKey(sealed, 'a.pem', typed(password))).resolves.toBeDefined();
  await expect(readPrivateKey(sealed, 'a.pem', typed('guess'))).rejects.toMatchObject({ code: 'usage' });
});

it('rejects other key types', async () => {
  const pairs = [
    generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    generateKeyPairSync('ed25519'),
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ];
  for (const { privateKey } of pairs) {
    const text = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(readPrivateKey(text, 'a.pem', neverAsked)).rejects.toMatchObject({
      code: 'invalid-document',
      message: expect.stringContaining('not an ECDSA P-256 key'),
    });
  }
});

const params = { N: 65_536, r: 8, p: 1 };
const sealed = (changed: object) => ({
  kdf: { name: 'scrypt', params, salt: 'AAAA' },
  cipher: { name: 'nacl/secretbox', nonce: Buffer.alloc(24).toString('base64') },
  ciphertext: 'AAAA',
  ...changed,
});

it.for([
  ['nothing', ''],
  ['text', 'hello'],
  ['a damaged key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
  ['an endless file', 'a'.repeat(100_000)],
  ['no JSON', `-----BEGIN ${LABEL}-----\nAAAA\n-----END ${LABEL}-----\n`],
  ['null', pem(LABEL, null)],
  ['another cipher', pem(LABEL, sealed({ cipher: { name: 'rot13', nonce: '' } }))],
  ['a short nonce', pem(LABEL, sealed({ cipher: { name: 'nacl/secretbox', nonce: 'AAAA' } }))],
  [
    'a work factor that would take all memory',
    pem(LABEL, sealed({ kdf: { name: 'scrypt', params: { N: 1_048_576, r: 32, p: 1 }, salt: 'AAAA' } })),
  ],
  [
    'a work factor that is none',
    pem(LABEL, sealed({ kdf: { name: 'scrypt', params: { N: 1_025, r: 8, p: 1 }, salt: 'AAAA' } })),
  ],
  ['a label and blanks', `-----BEGIN ${LABEL}-----${'\n'.repeat(65_000)}`],
] as const)('refuses %s', async ([, text]) => {
  await expect(readPrivateKey(text, 'a.key', typed(password))).rejects.toMatchObject({
    code: 'invalid-document',
    message: 'a.key is not a private key',
  });
});

it('rejects encrypted content that is not a key without printing it', async () => {
  const key = scryptSync(password, Buffer.from('AAAA', 'base64'), 32, { N: 1_024, r: 8, p: 1 });
  const ciphertext = xsalsa20poly1305(key, new Uint8Array(24)).encrypt(Buffer.from('a secret'));
  const file = pem(
    LABEL,
    sealed({
      kdf: { name: 'scrypt', params: { N: 1_024, r: 8, p: 1 }, salt: 'AAAA' },
      ciphertext: Buffer.from(ciphertext).toString('base64'),
    }),
  );
  await expect(readPrivateKey(file, 'a.key', typed(password))).rejects.toMatchObject({
    code: 'invalid-document',
    message: 'a.key is not a private key',
  });
});

it('reports a public key', async () => {
  const text = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
  await expect(readPrivateKey(text, 'a.pub', typed(password))).rejects.toMatchObject({
    code: 'invalid-document',
    message: 'a.pub is a public key, expected a private key',
  });
});
