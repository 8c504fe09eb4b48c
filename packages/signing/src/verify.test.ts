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
} from './testing/bundles.js';
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

describe('a bundle that is signed with a key', () => {
  it('is valid for its artifact and key', () => {
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

  it('is created by signStatement without a keyid', async () => {
    const made = await signStatement(signatureStatement({ a: digest }), keySigner(key.privateKey));
    expect(verifyBundle(made, artifact, trust).verified).toBe(true);
    const { dsseEnvelope, mediaType } = JSON.parse(new TextDecoder().decode(made));
    expect(mediaType).toBe('application/vnd.dev.sigstore.bundle.v0.3+json');
    expect(dsseEnvelope.signatures[0].keyid ?? '').toBe('');
  });

  it('is valid with another hint or without one', () => {
    for (const hint of ['', 'a name of the key']) {
      const { verificationMaterial, ...rest } = good;
      const hinted = { ...rest, verificationMaterial: { ...verificationMaterial, publicKey: { hint } } };
      const keys = [testKey().publicKey, key.publicKey];
      expect(verified(hinted, artifact, { ...trust, keys }).verified).toBe(true);
    }
  });

  it('is valid if any subject and any algorithm matches', () => {
    const other = { name: 'b', digest: { sha256: sha256('b') } };
    const both = testStatement('b', { subject: [other, { digest: { sha512: 'ab' } }] });
    const bundle = testBundle(key, both);
    expect(verified(bundle, { digests: [digest, 'sha512:ab'] }).verified).toBe(true);
    expect(refusal(bundle)).toMatch(/^subject: the signature is for sha256:/);
  });

  it('is rejected with other keys and without keys', () => {
    const keys = [testKey().publicKey];
    expect(refusal(good, artifact, { ...trust, keys })).toBe(
      `signature: it is signed by the key ${key.publicKey.fingerprint}, which is not trusted`,
    );
    expect(refusal(good, artifact, { ...trust, keys: [] })).toMatch(/^signature: /);
    expect(refusal(good, artifact, { keys: [], root: publicGoodRoot() })).toMatch(/^signature: /);
  });

  it('is rejected if the envelope was changed', () => {
    const other = testBundle(key, testStatement('other'));
    const payload = { ...good, dsseEnvelope: { ...good.dsseEnvelope, payload: other.dsseEnvelope.payload } };
    expect(refusal(payload)).toMatch(/^subject: /);
    expect(refusal(payload, { digests: [`sha256:${sha256('other')}`] })).toMatch(/^signature: /);
    const { signatures } = other.dsseEnvelope;
    expect(refusal({ ...good, dsseEnvelope: { ...good.dsseEnvelope, signatures } })).toMatch(/^signature: /);
  });

  it('is rejected if the payload is another document', () => {
    expect(refusal(testBundle(key, testStatement(bytes), 'text/plain'))).toMatch(
      /^statement: the payload is "text\/plain"/,
    );
    expect(refusal(testBundle(key, 'hello'))).toBe('statement: the signed payload is not valid JSON');
    expect(refusal(testBundle(key, testStatement(bytes, { _type: 'x' })))).toMatch(/^statement: .*_type/);
  });
});

describe('missing or invalid evidence', () => {
  const { dsseEnvelope } = good;
  it.for([
    ['nothing', new Uint8Array(), 'it is empty'],
    ['no JSON', bytes, 'it is not valid JSON'],
    ['cut off', bundleBytes(good).slice(0, 300), 'it is not valid JSON'],
    ['no text', new Uint8Array([0xff]), 'it is not valid JSON'],
    ['deep', new TextEncoder().encode('['.repeat(1_000_000)), 'it is not valid JSON'],
    ['null', null, 'it is not a JSON object'],
    ['a list', [good], 'it is not a JSON object'],
    ['an empty object', {}, 'it has no mediaType'],
    ['another media type', { ...good, mediaType: 'text/plain' }, 'its media type "text/plain" is unknown'],
    ['no envelope', { ...good, dsseEnvelope: undefined }, 'missing or invalid'],
    ['no material', { ...good, verificationMaterial: undefined }, 'missing or invalid'],
    [
      'no signature',
      { ...good, dsseEnvelope: { ...dsseEnvelope, signatures: [] } },
      'must have exactly one signature',
    ],
    [
      'two signatures',
      { ...good, dsseEnvelope: { ...dsseEnvelope, signatures: Array(2).fill(dsseEnvelope.signatures[0]) } },
      'must have exactly one signature',
    ],
    ['a text for the envelope', { ...good, dsseEnvelope: 'x' }, ''],
    ['too long', new Uint8Array(4_194_305), 'it exceeds 4194304 bytes'],
  ] as const)('is rejected: %s', ([, bundle, reason]) => {
    expect(refusal(bundle)).toMatch(/^bundle: /);
    expect(refusal(bundle)).toContain(reason);
  });

  it('is rejected: an invalid certificate', () => {
    const verificationMaterial = { certificate: { rawBytes: 'AAAA' } };
    expect(refusal({ ...good, verificationMaterial })).toMatch(/^bundle: /);
  });

  it('is rejected: an invalid timestamp, or one of an unknown authority', () => {
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

describe('log entries', () => {
  const kinds: EntryKind[] = ['dsse 0.0.1', 'dsse 0.0.2', 'hashedrekord 0.0.2'];
  it.for(kinds)('of the kind %s are verified', (kind) => {
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

  it('are rejected if the log has no start of validity', () => {
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
    ['a body that is not JSON', changed({ canonicalizedBody: btoa('x') }), undefined],
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
  ] as const)('are rejected: %s', ([, bundle, check]) => {
    expect(refusal(bundle, artifact, logged)).toMatch(check === undefined ? /./ : new RegExp(`^${check}: `));
  });

  it.for(['((([a-z:/.])+)+)+!', 'log \u2014 ((([a-z:/.])+)+)+!', '[', '(?:)'])(
    'are rejected if the checkpoint signer is %s, a regular expression',
    (signer) => {
      const bundle = withEntries(good, log.createEntry(good, key, 'dsse 0.0.2', signer));
      expect(refusal(bundle, artifact, logged)).toBe('bundle: a checkpoint has an invalid signer name');
    },
  );

  it('with an invalid time are rejected without an exception', () => {
    const inclusionPromise = { signedEntryTimestamp: 'AAAA' };
    const bundle = changed({ integratedTime: '9'.repeat(18), inclusionPromise });
    expect(refusal(bundle, artifact, logged)).toMatch(/^(time|log): /);
  });
});

describe('a signature of plain bytes', () => {
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
  ] as const)('is valid for %s', ([, of]) => {
    const { verified: isGood, statement, signer } = verified(message(), of);
    expect([isGood, statement, signer?.type]).toEqual([true, undefined, 'key']);
    expect(refusal(message(testKey()), of)).toMatch(/^signature: /);
    expect(refusal(message(key, new Uint8Array([1])), of)).toMatch(/^subject: the signature is for sha256:/);
  });

  it('is rejected if the digest matches but the bytes do not', () => {
    const bundle = message();
    expect(refusal(bundle, { digests: [digest], bytes: new Uint8Array([1]) })).toMatch(/^subject: /);
    const unknown = { ...bundle.messageSignature, messageDigest: { algorithm: 'SHA3_256', digest: 'AAAA' } };
    expect(refusal({ ...bundle, messageSignature: unknown })).toMatch(/^subject: .*unknown digest/);
  });

  it('can be verified by digest for all ECDSA curves, but not for other keys', () => {
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

it('accepts every predicate type: the caller decides', async () => {
  const statement = predicateStatement({ digest }, 'https://example.com/scan', { passed: false });
  const made = await signStatement(statement, keySigner(key.privateKey));
  expect(verifyBundle(made, artifact, trust).statement).toEqual(statement);
});
