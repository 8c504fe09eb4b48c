import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { publicKey, publicKeyHint } from '@krmhub/schema';
import { type Bundle, bundleToJSON, toDSSEBundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { encodeStatement, IN_TOTO_MEDIA_TYPE, type Statement } from './statement.js';

/** Puts a payload of in-toto into a signed envelope (DSSE), with the evidence of who signed it. */
export type PayloadSigner = (payload: Buffer<ArrayBuffer>) => Promise<Bundle>;

/** Signs with an ECDSA key over P-256; there is no certificate and no log, so that nothing is asked of a network. */
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

/** A sigstore bundle v0.3 with a DSSE envelope around a statement, as JSON. */
export async function signStatement(statement: Statement, signer: PayloadSigner): Promise<Uint8Array> {
  const bundle = await signer(Buffer.from(encodeStatement(statement)) as Buffer<ArrayBuffer>);
  // go-securesystemslib, and so cosign, skips signatures whose keyid is not its own kind of fingerprint.
  if (bundle.content.$case === 'dsseEnvelope') {
    for (const signature of bundle.content.dsseEnvelope.signatures) signature.keyid = '';
  }
  return new TextEncoder().encode(JSON.stringify(bundleToJSON(bundle)));
}
