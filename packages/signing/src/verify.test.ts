import { generateKeyPairSync, sign } from 'node:crypto';
import { publicKey } from '@krmhub/schema';
import { describe, expect, it } from 'vitest';
import { keySigner, signStatement } from './sign.js';
import type { SignedArtifact } from './signed-artifact.js';
import { predicateStatement, signatureStatement } from './statement.js';
import {
  bundleBytes,
  type EntryKind,
  sha256,
  type TestBundle,
  TestLog,
  testBundle,
  testKey,
  testStatement,
} from './testing.js';
import { emptyRoot, publicGoodRoot, readTrustedRoot } from './trusted-root.js';
import { type Trust, verifyBundle } from './verify.js';

const key = testKey();
const bytes = new TextEncoder().encode('hello\n');
const digest = `sha256:${sha256(bytes)}`;
const artifact: SignedArtifact = { digests: [digest] };
const trust: Trust = { keys: [key.publicKey], root: emptyRoot() };
const good = testBundle(key, testStatement(bytes));
const log = new TestLog();
const logged: Trust = { ...trust, root: readTrustedRoot(log.trustedRoot(), 'our log') };

function verified(bundle: unknown, of = artifact, by = trust) {
  return verifyBundle(bundleBytes(bundle), of, by);
}

/** The check that failed, and why; nothing may pass after it. */
function refusal(bundle: unknown, of = artifact, by = trust): string {
  const raw = bundle instanceof Uint8Array ? bundle : bundleBytes(bundle);
  const { verified: isGood, checks } = verifyBundle(raw, of, by);
  expect(isGood).toBe(false);
  expect(checks.filter(({ passed }) => !passed)).toHaveLength(1);
  const last = checks.at(-1)!;
  expect(last.passed).toBe(false);
  return `${last.check}: ${last.message}`;
}

const withEntries = (bundle: TestBundle, ...tlogEntries: unknown[]) => ({
  ...bundle,
  verificationMaterial: { ...bundle.verificationMaterial, tlogEntries },
});

describe('a bundle that a key signed', () => {
  it('holds for its artifact and key', () => {
    const { verified: isGood, checks, signer, statement, signedAt } = verified(good);
    expect(isGood).toBe(true);
    expect(checks.map(({ check, passed }) => [check, passed])).toEqual([
      ['bundle', true],
      ['statement', true],
      ['subject', true],
      ['signature', true],
    ]);
    expect(signer).toEqual({ type: 'key', fingerprint: key.publicKey.fingerprint });
    expect(statement?.predicateType).toBe('https://sigstore.dev/cosign/sign/v1');
    expect(signedAt).toBeUndefined();
  });

  it('is what signStatement makes, without an identifier that others take for something else', async () => {
    const made = await signStatement(signatureStatement({ a: digest }), keySigner(key.privateKey));
    expect(verifyBundle(made, artifact, trust).verified).toBe(true);
    const { dsseEnvelope, mediaType } = JSON.parse(new TextDecoder().decode(made));
    expect(mediaType).toBe('application/vnd.dev.sigstore.bundle.v0.3+json');
    expect(dsseEnvelope.signatures[0].keyid ?? '').toBe('');
  });

  it('holds where another program gave no hint, or one of its own', () => {
    for (const hint of ['', 'a name of the key']) {
      const { verificationMaterial, ...rest } = good;
      const hinted = { ...rest, verificationMaterial: { ...verificationMaterial, publicKey: { hint } } };
      const keys = [testKey().publicKey, key.publicKey];
      expect(verified(hinted, artifact, { ...trust, keys }).verified).toBe(true);
    }
  });

  it('holds by any subject, and by any algorithm that the artifact is known by', () => {
    const other = { name: 'b', digest: { sha256: sha256('b') } };
    const both = testStatement('b', { subject: [other, { digest: { sha512: 'ab' } }] });
    const bundle = testBundle(key, both);
    expect(verified(bundle, { digests: [digest, 'sha512:ab'] }).verified).toBe(true);
    expect(refusal(bundle)).toMatch(/^subject: it speaks of sha256:/);
  });

  it('is refused by other keys, and by none', () => {
    const keys = [testKey().publicKey];
    expect(refusal(good, artifact, { ...trust, keys })).toBe(
      `signature: it is signed by the key ${key.publicKey.fingerprint}, which is not trusted here`,
    );
    expect(refusal(good, artifact, { ...trust, keys: [] })).toMatch(/^signature: /);
    expect(refusal(good, artifact, { keys: [], root: publicGoodRoot() })).toMatch(/^signature: /);
  });

  it('is refused where the envelope was changed', () => {
    const other = testBundle(key, testStatement('other'));
    const payload = { ...good, dsseEnvelope: { ...good.dsseEnvelope, payload: other.dsseEnvelope.payload } };
    expect(refusal(payload)).toMatch(/^subject: /);
    expect(refusal(payload, { digests: [`sha256:${sha256('other')}`] })).toMatch(/^signature: /);
    const { signatures } = other.dsseEnvelope;
    expect(refusal({ ...good, dsseEnvelope: { ...good.dsseEnvelope, signatures } })).toMatch(/^signature: /);
  });

  it('is refused where the payload is another document', () => {
    expect(refusal(testBundle(key, testStatement(bytes), 'text/plain'))).toMatch(
      /^statement: the payload is "text\/plain"/,
    );
    expect(refusal(testBundle(key, 'hello'))).toBe('statement: the signed payload is not JSON');
    expect(refusal(testBundle(key, testStatement(bytes, { _type: 'x' })))).toMatch(/^statement: .*_type/);
  });
});

describe('evidence that is absent or damaged', () => {
  const { dsseEnvelope } = good;
  it.for([
    ['nothing', new Uint8Array(), 'it is empty'],
    ['no JSON', bytes, 'it is not valid JSON, or cut off'],
    ['cut off', bundleBytes(good).slice(0, 300), 'it is not valid JSON, or cut off'],
    ['no text', new Uint8Array([0xff]), 'it is not valid JSON, or cut off'],
    ['deep', new TextEncoder().encode('['.repeat(1_000_000)), 'it is not valid JSON, or cut off'],
    ['null', null, 'it is no JSON object'],
    ['a list', [good], 'it is no JSON object'],
    ['an empty object', {}, 'it has no mediaType'],
    ['another media type', { ...good, mediaType: 'text/plain' }, 'its media type "text/plain" is not known'],
    ['no envelope', { ...good, dsseEnvelope: undefined }, 'missing or not as it should be'],
    ['no material', { ...good, verificationMaterial: undefined }, 'missing or not as it should be'],
    ['no signature', { ...good, dsseEnvelope: { ...dsseEnvelope, signatures: [] } }, 'has none or several'],
    [
      'two signatures',
      { ...good, dsseEnvelope: { ...dsseEnvelope, signatures: Array(2).fill(dsseEnvelope.signatures[0]) } },
      'has none or several',
    ],
    ['a text for the envelope', { ...good, dsseEnvelope: 'x' }, ''],
    ['too long', new Uint8Array(4_194_305), 'it exceeds 4194304 bytes'],
  ] as const)('is refused: %s', ([, bundle, reason]) => {
    expect(refusal(bundle)).toMatch(/^bundle: /);
    expect(refusal(bundle)).toContain(reason);
  });

  it('is refused: a certificate that is none', () => {
    const verificationMaterial = { certificate: { rawBytes: 'AAAA' } };
    expect(refusal({ ...good, verificationMaterial })).toMatch(/^bundle: /);
  });

  it('is refused: a timestamp that is none, or of nobody known', () => {
    const rfc3161Timestamps = [{ signedTimestamp: 'AAAA' }];
    const verificationMaterial = {
      ...good.verificationMaterial,
      timestampVerificationData: { rfc3161Timestamps },
    };
    expect(refusal({ ...good, verificationMaterial })).toMatch(/^bundle: /);
    const many = { rfc3161Timestamps: Array(9).fill(rfc3161Timestamps[0]) };
    const tooMany = { ...good.verificationMaterial, timestampVerificationData: many };
    expect(refusal({ ...good, verificationMaterial: tooMany })).toMatch(/^bundle: it has 9 timestamps/);
  });
});

describe('entries of a log', () => {
  const kinds: EntryKind[] = ['dsse 0.0.1', 'dsse 0.0.2', 'hashedrekord 0.0.2'];
  it.for(kinds)('of the kind %s are held against the log', (kind) => {
    const { checks } = verified(log.addEntry(good, key, kind), artifact, logged);
    expect(checks.at(-1)).toMatchObject({ check: 'signature', passed: true });
    expect(checks).toContainEqual({ check: 'log', passed: true, message: 'entry 0 of log.example.com' });

    const stranger = new TestLog().addEntry(good, key, kind);
    expect(refusal(stranger, artifact, logged)).toMatch(/^log: .*\(our log\)$/);
    const other = testBundle(key, testStatement('other'));
    expect(refusal(withEntries(good, log.createEntry(other, key, kind)), artifact, logged)).toMatch(/^log: /);
    const again = testBundle(key, testStatement(bytes));
    expect(refusal(withEntries(good, log.createEntry(again, key, kind)), artifact, logged)).toMatch(/^log: /);
  });

  it('are refused where the log does not say from when on it is good', () => {
    const root = readTrustedRoot(log.trustedRoot({}), 'our log');
    expect(refusal(log.addEntry(good, key, 'dsse 0.0.2'), artifact, { ...trust, root })).toMatch(/^log: /);
  });

  const entry = log.createEntry(good, key, 'dsse 0.0.2');
  const proof = entry.inclusionProof!;
  const changed = (change: object) => withEntries(good, { ...entry, ...change });
  const proofOf = (change: object) => changed({ inclusionProof: { ...proof, ...change } });
  it.for([
    ['no proof', changed({ inclusionProof: undefined }), 'bundle'],
    ['no checkpoint', proofOf({ checkpoint: undefined }), 'bundle'],
    ['another body', changed({ canonicalizedBody: btoa('{}') }), 'log'],
    ['a body that is no JSON', changed({ canonicalizedBody: btoa('x') }), undefined],
    ['another kind', changed({ kindVersion: { kind: 'rpm', version: '0.0.1' } }), 'log'],
    ['more leaves than there are', proofOf({ hashes: [sha256('x', 'base64')] }), 'log'],
    ['a place outside of the tree', proofOf({ logIndex: '7' }), 'log'],
    ['a number of a million digits', proofOf({ treeSize: '9'.repeat(1_000_000) }), 'bundle'],
    ['a number that is none', changed({ logIndex: 'x' }), 'bundle'],
    [
      'a checkpoint that goes on and on',
      proofOf({ checkpoint: { envelope: `${proof.checkpoint.envelope}${'x'.repeat(20_000)}` } }),
      'bundle',
    ],
    ['nine entries', withEntries(good, ...Array(9).fill(entry)), 'bundle'],
  ] as const)('are refused: %s', ([, bundle, check]) => {
    expect(refusal(bundle, artifact, logged)).toMatch(check === undefined ? /./ : new RegExp(`^${check}: `));
  });

  it.for(['((([a-z:/.])+)+)+!', 'log \u2014 ((([a-z:/.])+)+)+!', '[', '(?:)'])(
    'are refused where %s signs the checkpoint, which would be an expression',
    (signer) => {
      const bundle = withEntries(good, log.createEntry(good, key, 'dsse 0.0.2', signer));
      expect(refusal(bundle, artifact, logged)).toBe(
        'bundle: a checkpoint in it is signed by a name that no log can have',
      );
    },
  );

  it('with a time that no date has are refused and not thrown', () => {
    const inclusionPromise = { signedEntryTimestamp: 'AAAA' };
    const bundle = changed({ integratedTime: '9'.repeat(18), inclusionPromise });
    expect(refusal(bundle, artifact, logged)).toMatch(/^(time|log): /);
  });
});

describe('a signature over bare bytes', () => {
  const message = (signedBy = key, of: Uint8Array = bytes) => ({
    mediaType: good.mediaType,
    verificationMaterial: good.verificationMaterial,
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: sha256(of, 'base64') },
      signature: sign('sha256', of, signedBy.privateKey).toString('base64'),
    },
  });

  it.for([
    ['the bytes', { digests: [digest], bytes }],
    ['the digest alone', { digests: [digest] }],
  ] as const)('holds for %s', ([, of]) => {
    const { verified: isGood, statement, signer } = verified(message(), of);
    expect([isGood, statement, signer?.type]).toEqual([true, undefined, 'key']);
    expect(refusal(message(testKey()), of)).toMatch(/^signature: /);
    expect(refusal(message(key, new Uint8Array([1])), of)).toMatch(/^subject: the signature is of sha256:/);
  });

  it('is refused where the digest in it is right and the bytes are others', () => {
    const bundle = message();
    expect(refusal(bundle, { digests: [digest], bytes: new Uint8Array([1]) })).toMatch(/^subject: /);
    const unknown = { ...bundle.messageSignature, messageDigest: { algorithm: 'SHA3_256', digest: 'AAAA' } };
    expect(refusal({ ...bundle, messageSignature: unknown })).toMatch(/^subject: .*unknown digest/);
  });

  it('is checked by its digest over other curves too, and not for keys that sign no digests', () => {
    for (const namedCurve of ['P-384', 'P-521']) {
      const pair = generateKeyPairSync('ec', { namedCurve });
      const signedBy = { privateKey: pair.privateKey, publicKey: publicKey(pair.publicKey, 'it') };
      const by = { ...trust, keys: [signedBy.publicKey] };
      expect(verified(message(signedBy), artifact, by).verified).toBe(true);
      expect(refusal(message(), artifact, by)).toMatch(/^signature: /);
    }
    const { publicKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(refusal(message(), artifact, { ...trust, keys: [publicKey(rsa, 'it')] })).toMatch(/^signature: /);
  });
});

it('takes statements about anything, whose type the caller judges', async () => {
  const statement = predicateStatement({ digest }, 'https://example.com/scan', { passed: false });
  const made = await signStatement(statement, keySigner(key.privateKey));
  expect(verifyBundle(made, artifact, trust).statement).toEqual(statement);
});
