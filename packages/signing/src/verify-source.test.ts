import { sign } from 'node:crypto';
import { publicKeyHint, sha256 } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { keySigner, signStatement } from './sign.js';
import { predicateStatement, releaseStatement, signatureStatement, snapshotStatement } from './statement.js';
import { bundleBytes, testKey } from './testing/bundles.js';
import { emptyRoot } from './trusted-root.js';
import { verifySource } from './verify-source.js';

const BYTES = new TextEncoder().encode('kind: Catalog\n');
const DIGEST = sha256(BYTES);
const MANIFEST = sha256('a manifest');
const EXPIRES = '2030-02-01T00:00:00.000Z';
const [ours, theirs] = [testKey(), testKey()];

const signed = (statement: Parameters<typeof signStatement>[0], key = ours) =>
  signStatement(statement, keySigner(key.privateKey));
const claim = (serial: number, expires = EXPIRES) => ({
  catalog: 'vendor',
  serial,
  previous: null,
  expires,
});
const snapshot = (serial: number, digests: Record<string, string> = { 'catalog.yaml': DIGEST }) =>
  signed(snapshotStatement(claim(serial), digests));
const verify = (bundles: Uint8Array[], more: { manifest?: string } = {}) =>
  verifySource(bundles, { bytes: BYTES, ...more }, { keys: [ours.publicKey], root: emptyRoot() });
const SIGNER = { type: 'key', fingerprint: ours.publicKey.fingerprint };

describe('verifySource', () => {
  it('returns signer and snapshot for a signed rendition', async () => {
    for (const form of ['catalog.yaml', 'krmfunctioncatalog.json']) {
      expect(verify([await snapshot(7, { 'snapshot.json': sha256('x'), [form]: DIGEST })])).toEqual({
        signatures: [{ signer: SIGNER, snapshot: { catalog: 'vendor', serial: 7, expires: EXPIRES } }],
        problems: [],
      });
    }
  });

  it('returns signer and snapshot for a signed manifest', async () => {
    const bundle = await snapshot(7, { manifest: MANIFEST, 'catalog.yaml': sha256('another form') });
    expect(verify([bundle], { manifest: MANIFEST }).signatures[0]?.snapshot?.serial).toBe(7);
    expect(verify([bundle]).problems[0]).toMatch(/failed the check subject/);
  });

  it('rejects bytes with another subject name', async () => {
    for (const name of ['snapshot.json', 'manifest', 'elsewhere.yaml']) {
      const found = verify([await snapshot(7, { [name]: DIGEST })]);
      expect(found).toMatchObject({
        signatures: [],
        problems: [expect.stringContaining('but not these bytes')],
      });
    }
  });

  it('returns the signer without a serial for a plain signature', async () => {
    const signature = sign('sha256', BYTES, ours.privateKey).toString('base64');
    const bare = bundleBytes({
      mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
      verificationMaterial: { publicKey: { hint: publicKeyHint(ours.publicKey) } },
      messageSignature: {
        messageDigest: {
          algorithm: 'SHA2_256',
          digest: Buffer.from(DIGEST.slice(7), 'hex').toString('base64'),
        },
        signature,
      },
    });
    const plain = await signed(signatureStatement({ 'catalog.yaml': DIGEST }));
    expect(verify([bare, plain])).toEqual({
      signatures: [{ signer: SIGNER }, { signer: SIGNER }],
      problems: [],
    });
  });

  it('rejects other signers and other predicates', async () => {
    const { problems, signatures } = verify([
      await signed(snapshotStatement(claim(7), { 'catalog.yaml': DIGEST }), theirs),
      await signed(predicateStatement({ digest: DIGEST }, 'https://spdx.dev/Document', {})),
      await signed(releaseStatement({ group: 'a.co', kind: 'A', release: '1.0.0' }, { definition: DIGEST })),
      await signed({
        ...snapshotStatement(claim(7), { 'catalog.yaml': DIGEST }),
        predicate: { serial: 'x' },
      }),
      new TextEncoder().encode('{'),
      new Uint8Array(4_194_305),
    ]);
    expect(signatures).toEqual([]);
    expect(problems).toHaveLength(6);
    expect(problems[0]).toMatch(/not trusted/);
    expect(problems[1]).toMatch(/not a signature of a catalog/);
    expect(problems[3]).toMatch(/invalid snapshot statement/);
    expect(problems[5]).toMatch(/exceeds 4194304 bytes/);
  });
});
