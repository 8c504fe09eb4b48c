import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { publicKey, publicKeyHint } from '@krmhub/schema';
import { type Bundle, bundleToJSON, toDSSEBundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { encodeStatement, IN_TOTO_MEDIA_TYPE, type Statement } from './statement.js';

/** Signs an in-toto payload: returns a bundle with a DSSE envelope and the evidence of the signer. */
export type PayloadSigner = (payload: Buffer<ArrayBuffer>) => Promise<Bundle>;

/** Returns a signer with an ECDSA P-256 key. It works offline: no certificate, no transparency log. */
export function keySigner(privateKey: KeyObject): PayloadSigner {
  const keyHint = publicKeyHint(publicKey(createPublicKey(privateKey), 'the signing key'));
  const signBytes = promisify<string, NodeJS.ArrayBufferView, KeyObject, Buffer>(sign);
  return async (artifact) =>
    toDSSEBundle({
      artifact,
      artifactType: IN_TOTO_MEDIA_TYPE,
      signature: (await signBytes(
        'sha256',
        dsse.preAuthEncoding(IN_TOTO_MEDIA_TYPE, artifact),
        privateKey,
      )) as Buffer<ArrayBuffer>,
      keyHint,
      certificateChain: false,
    });
}

/** Signs a statement. Returns the JSON of a sigstore bundle v0.3 with a DSSE envelope. */
export async function signStatement(statement: Statement, signer: PayloadSigner): Promise<Uint8Array> {
  const bundle = await signer(Buffer.from(encodeStatement(statement)) as Buffer<ArrayBuffer>);
  // go-securesystemslib, which cosign uses, skips signatures with another kind of keyid.
  if (bundle.content.$case === 'dsseEnvelope') {
    for (const signature of bundle.content.dsseEnvelope.signatures) signature.keyid = '';
  }
  return new TextEncoder().encode(JSON.stringify(bundleToJSON(bundle)));
}
