import { sign } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sha256, TestLog, testBundle, testKey, testStatement } from '@krmhub/signing/testing/bundles';

/**
 * A folder in the layout of the conformance suite, with our own keys and log: the client must tell good
 * cases from bad ones.
 */

const artifact = 'hello\n';

interface Case {
  bundle: unknown;
  artifact?: string;
  identity?: string;
  root?: string;
}

/** Returns the folder of the cases; most of them share the artifact beside it. */
export function makeCases(parent: string): string {
  const folder = path.join(parent, 'bundle-verify');
  mkdirSync(folder);
  writeFileSync(path.join(parent, 'a.txt'), artifact);
  const key = testKey();
  for (const [name, made] of Object.entries(cases(key))) {
    const at = (file: string) => path.join(folder, name, file);
    mkdirSync(path.join(folder, name));
    const text = typeof made.bundle === 'string' ? made.bundle : JSON.stringify(made.bundle);
    writeFileSync(at('bundle.sigstore.json'), text);
    writeFileSync(at('key.pub'), key.publicKey.pem);
    if (made.artifact !== undefined) writeFileSync(at('artifact'), made.artifact);
    if (made.identity !== undefined) writeFileSync(at('identity'), made.identity);
    if (made.root !== undefined) writeFileSync(at('trusted_root.json'), made.root);
  }
  return folder;
}

function cases(key: ReturnType<typeof testKey>): Record<string, Case> {
  const log = new TestLog();
  const stranger = new TestLog();
  const good = testBundle(key, testStatement(artifact));
  const other = testBundle(key, testStatement('other\n'));
  const envelope = good.dsseEnvelope;
  const statement = (fields: Record<string, unknown>) => testBundle(key, testStatement(artifact, fields));
  const root = log.trustedRoot();
  const second = log.addEntry(good, key, 'dsse 0.0.2');
  const entry = second.verificationMaterial.tlogEntries![0]!;
  const withEntry = (changed: object) => ({
    ...good,
    verificationMaterial: { ...good.verificationMaterial, tlogEntries: [{ ...entry, ...changed }] },
  });
  const proof = entry.inclusionProof!;
  return {
    good: { bundle: good },
    'other-artifact_fail': { bundle: good, artifact: 'other\n' },
    'tampered-payload_fail': {
      bundle: { ...good, dsseEnvelope: { ...envelope, payload: other.dsseEnvelope.payload } },
      artifact: 'other\n',
    },
    'tampered-signature_fail': {
      bundle: { ...good, dsseEnvelope: { ...envelope, signatures: other.dsseEnvelope.signatures } },
    },
    'other-key_fail': { bundle: testBundle(testKey(), testStatement(artifact)) },
    'key-and-identity_fail': { bundle: good, identity: 'somebody@example.com' },
    'statement-missing-type_fail': { bundle: statement({ _type: undefined }) },
    'statement-unknown-type_fail': { bundle: statement({ _type: 'https://example.com/Statement/v9' }) },
    'statement-without-subject_fail': { bundle: statement({ subject: [] }) },
    'statement-of-other-algorithm_fail': {
      bundle: statement({ subject: [{ digest: { md5: 'b1946ac92492d2347c6235b4d2611184' } }] }),
    },
    'wrong-payload-type_fail': { bundle: testBundle(key, testStatement(artifact), 'text/plain') },
    'payload-no-json_fail': { bundle: testBundle(key, artifact) },
    'two-signatures_fail': {
      bundle: {
        ...good,
        dsseEnvelope: { ...envelope, signatures: [...envelope.signatures, ...envelope.signatures] },
      },
    },
    'no-signature_fail': { bundle: { ...good, dsseEnvelope: { ...envelope, signatures: [] } } },
    truncated_fail: { bundle: JSON.stringify(good).slice(0, -20) },
    'empty-object_fail': { bundle: {} },
    null_fail: { bundle: 'null' },
    empty_fail: { bundle: '' },
    'unknown-media-type_fail': { bundle: { ...good, mediaType: 'application/json' } },
    message: { bundle: messageBundle(key, artifact) },
    'message-of-other-artifact_fail': { bundle: messageBundle(key, 'other\n') },
    'message-by-other-key_fail': { bundle: messageBundle(testKey(), artifact) },

    'log-first': { bundle: log.addEntry(good, key, 'dsse 0.0.1'), root },
    'log-second-dsse': { bundle: second, root },
    'log-second-hashedrekord': { bundle: log.addEntry(good, key, 'hashedrekord 0.0.2'), root },
    'log-without-proof_fail': { bundle: withEntry({ inclusionProof: undefined }), root },
    'log-without-checkpoint_fail': {
      bundle: withEntry({ inclusionProof: { ...proof, checkpoint: undefined } }),
      root,
    },
    'log-of-other-bundle_fail': {
      bundle: withEntry(log.createEntry(other, key, 'dsse 0.0.2')),
      root,
    },
    'log-of-other-signature_fail': {
      bundle: withEntry(log.createEntry(testBundle(key, testStatement(artifact)), key, 'dsse 0.0.2')),
      root,
    },
    'log-hashedrekord-of-other-bundle_fail': {
      bundle: withEntry(log.createEntry(other, key, 'hashedrekord 0.0.2')),
      root,
    },
    'log-with-other-body_fail': {
      bundle: withEntry({
        canonicalizedBody: Buffer.from('{"kind":"dsse","apiVersion":"0.0.2"}').toString('base64'),
      }),
      root,
    },
    'log-unknown-kind_fail': { bundle: withEntry({ kindVersion: { kind: 'rpm', version: '0.0.1' } }), root },
    'log-not-trusted_fail': { bundle: stranger.addEntry(good, key, 'dsse 0.0.2'), root },
    'log-without-start_fail': { bundle: second, root: log.trustedRoot({}) },
    'log-signed-by-expression_fail': {
      bundle: withEntry(log.createEntry(good, key, 'dsse 0.0.2', '((([a-z:/.])+)+)+!')),
      root,
    },
    'log-signed-by-hidden-expression_fail': {
      bundle: withEntry(log.createEntry(good, key, 'dsse 0.0.2', 'log \u2014 ((([a-z:/.])+)+)+!')),
      root,
    },
    'log-number-without-end_fail': {
      bundle: withEntry({ inclusionProof: { ...proof, treeSize: '9'.repeat(1_000_000) } }),
      root,
    },
  };
}

/** A signature over the bytes themselves, as `cosign sign-blob` makes it. */
function messageBundle(key: ReturnType<typeof testKey>, message: string) {
  const { mediaType, verificationMaterial } = testBundle(key, '{}');
  return {
    mediaType,
    verificationMaterial,
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: sha256(message, 'base64') },
      signature: sign('sha256', Buffer.from(message), key.privateKey).toString('base64'),
    },
  };
}
