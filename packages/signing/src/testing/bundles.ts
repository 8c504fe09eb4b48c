/**
 * Valid and invalid bundles and logs for tests, signed with generated keys.
 *
 * @module
 */

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { BUNDLE_MEDIA_TYPE, type PublicKey, publicKey, publicKeyHint } from '@krmhub/schema';
import { dsse } from '@sigstore/core';
import { IN_TOTO_MEDIA_TYPE, STATEMENT_TYPE } from '../statement.js';

export interface TestKey {
  privateKey: KeyObject;
  publicKey: PublicKey;
}

export function testKey(): TestKey {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey: pair.privateKey, publicKey: publicKey(pair.publicKey, 'a key of the test') };
}

export const sha256 = (bytes: string | Uint8Array, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHash('sha256').update(bytes).digest(encoding);

/** A bundle in JSON that tests can modify. */
export interface TestBundle {
  mediaType: string;
  verificationMaterial: {
    publicKey: { hint: string };
    tlogEntries?: TestEntry[];
    timestampVerificationData?: object;
  };
  dsseEnvelope: { payload: string; payloadType: string; signatures: { sig: string; keyid?: string }[] };
}

/** Returns a statement about bytes; `other` overrides its fields. */
export function testStatement(artifact: string | Uint8Array, other: Record<string, unknown> = {}): string {
  return JSON.stringify({
    _type: STATEMENT_TYPE,
    subject: [{ name: 'a.txt', digest: { sha256: sha256(artifact) } }],
    predicateType: 'https://sigstore.dev/cosign/sign/v1',
    predicate: {},
    ...other,
  });
}

/** Returns a valid signature of any payload. */
export function testBundle(key: TestKey, payload: string, payloadType = IN_TOTO_MEDIA_TYPE): TestBundle {
  const signature = sign('sha256', dsse.preAuthEncoding(payloadType, Buffer.from(payload)), key.privateKey);
  return {
    mediaType: BUNDLE_MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint: publicKeyHint(key.publicKey) } },
    dsseEnvelope: {
      payload: Buffer.from(payload).toString('base64'),
      payloadType,
      signatures: [{ sig: signature.toString('base64') }],
    },
  };
}

export const bundleBytes = (bundle: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(bundle));

export interface TestEntry {
  logIndex: string;
  logId: { keyId: string };
  kindVersion: { kind: string; version: string };
  inclusionProof?: {
    logIndex: string;
    treeSize: string;
    rootHash: string;
    hashes: string[];
    checkpoint: { envelope: string };
  };
  canonicalizedBody: string;
}

export type EntryKind = 'dsse 0.0.1' | 'dsse 0.0.2' | 'hashedrekord 0.0.2';

/** A transparency log whose entries are alone in their tree: the hash of the entry is the root hash. */
export class TestLog {
  readonly name = 'log.example.com';
  readonly #key = testKey();

  /** `signer` is the signer name in the checkpoint. */
  createEntry(bundle: TestBundle, key: TestKey, kind: EntryKind, signer: string = this.name): TestEntry {
    const body = Buffer.from(JSON.stringify(entryBody(bundle, key, kind)));
    const rootHash = sha256(Buffer.concat([Buffer.from([0]), body]), 'base64');
    const [name, version] = kind.split(' ') as [string, string];
    return {
      logIndex: '0',
      logId: { keyId: publicKeyHint(this.#key.publicKey) },
      kindVersion: { kind: name, version },
      inclusionProof: {
        logIndex: '0',
        treeSize: '1',
        rootHash,
        hashes: [],
        checkpoint: { envelope: this.#checkpoint(rootHash, signer) },
      },
      canonicalizedBody: body.toString('base64'),
    };
  }

  /** Returns the bundle with an entry in this log. */
  addEntry(bundle: TestBundle, key: TestKey, kind: EntryKind): TestBundle {
    const tlogEntries = [this.createEntry(bundle, key, kind)];
    return { ...bundle, verificationMaterial: { ...bundle.verificationMaterial, tlogEntries } };
  }

  /** Returns the JSON of a trusted root with only this log. */
  trustedRoot(validFor: object = { start: '2020-01-01T00:00:00Z' }): string {
    const { key } = this.#key.publicKey;
    const rawBytes = key.export({ type: 'spki', format: 'der' }).toString('base64');
    return JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [
        {
          baseUrl: `https://${this.name}`,
          hashAlgorithm: 'SHA2_256',
          publicKey: { rawBytes, keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor },
          logId: { keyId: publicKeyHint(this.#key.publicKey) },
        },
      ],
      certificateAuthorities: [],
      ctlogs: [],
      timestampAuthorities: [],
    });
  }

  /** A signed note (C2SP tlog-checkpoint). */
  #checkpoint(rootHash: string, signer: string): string {
    const note = `${this.name}\n1\n${rootHash}\n`;
    const hint = Buffer.from(publicKeyHint(this.#key.publicKey), 'base64').subarray(0, 4);
    const signature = sign('sha256', Buffer.from(note), this.#key.privateKey);
    return `${note}\n\u2014 ${signer} ${Buffer.concat([hint, signature]).toString('base64')}\n`;
  }
}

/** Entries of Rekor API version 1 and of version 2 (rekor-tiles). */
function entryBody({ dsseEnvelope }: TestBundle, { publicKey: { key, pem } }: TestKey, kind: EntryKind) {
  const payload = Buffer.from(dsseEnvelope.payload, 'base64');
  const content = dsseEnvelope.signatures[0]!.sig;
  const rawBytes = key.export({ type: 'spki', format: 'der' }).toString('base64');
  const verifier = { publicKey: { rawBytes }, keyDetails: 'PKIX_ECDSA_P256_SHA_256' };
  const hash = (bytes: Uint8Array) => ({ algorithm: 'SHA2_256', digest: sha256(bytes, 'base64') });
  if (kind === 'dsse 0.0.1') {
    const spec = {
      envelopeHash: { algorithm: 'sha256', value: sha256(JSON.stringify(dsseEnvelope)) },
      payloadHash: { algorithm: 'sha256', value: sha256(payload) },
      signatures: [{ signature: content, verifier: Buffer.from(pem).toString('base64') }],
    };
    return { apiVersion: '0.0.1', kind: 'dsse', spec };
  }
  if (kind === 'dsse 0.0.2') {
    const dsseV002 = { payloadHash: hash(payload), signatures: [{ content, verifier }] };
    return { apiVersion: '0.0.2', kind: 'dsse', spec: { dsseV002 } };
  }
  const signed = dsse.preAuthEncoding(dsseEnvelope.payloadType, payload);
  const hashedRekordV002 = { data: hash(signed), signature: { content, verifier } };
  return { apiVersion: '0.0.2', kind: 'hashedrekord', spec: { hashedRekordV002 } };
}
