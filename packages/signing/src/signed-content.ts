import { createHash, type KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist';
import type { Bundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { HashAlgorithm } from '@sigstore/protobuf-specs';
import { type SignedEntity, toSignedEntity } from '@sigstore/verify';
import { type Check, failedCheck, passedCheck } from './check.js';
import type { SignedArtifact } from './signed-artifact.js';
import { hasSubject, IN_TOTO_MEDIA_TYPE, readStatement, type Statement } from './statement.js';

const HASH_NAMES: Partial<Record<HashAlgorithm, string>> = {
  [HashAlgorithm.SHA2_256]: 'sha256',
  [HashAlgorithm.SHA2_384]: 'sha384',
  [HashAlgorithm.SHA2_512]: 'sha512',
};

/**
 * Checks that the bundle signs this artifact, not another one. Adds the checks to `checks`. Returns the statement,
 * `bytes` for a signature without a statement, undefined if a check fails.
 */
export function checkContent(
  { content }: Bundle,
  artifact: SignedArtifact,
  checks: Check[],
): Statement | 'bytes' | undefined {
  if (content.$case === 'messageSignature') {
    const check = checkMessage(content.messageSignature.messageDigest, artifact);
    checks.push(check);
    return check.passed ? 'bytes' : undefined;
  }
  const { payload, payloadType } = content.dsseEnvelope;
  if (payloadType !== IN_TOTO_MEDIA_TYPE) {
    const type = JSON.stringify(payloadType.slice(0, 100));
    checks.push(failedCheck('statement', `the payload is ${type}, not ${IN_TOTO_MEDIA_TYPE}`));
    return undefined;
  }
  const statement = readStatement(payload);
  if (typeof statement === 'string') {
    checks.push(failedCheck('statement', statement));
    return undefined;
  }
  checks.push(passedCheck('statement', statement.predicateType));
  const match = artifact.digests.find((digest) => hasSubject(statement, [digest]));
  if (match === undefined) {
    const names = statement.subject
      .slice(0, 3)
      .map(({ digest }) => Object.entries(digest)[0]?.join(':') ?? 'nothing');
    checks.push(failedCheck('subject', `the signature is for ${names.join(', ')}, not for this artifact`));
    return undefined;
  }
  checks.push(passedCheck('subject', match));
  return statement;
}

function checkMessage(
  { algorithm, digest }: { algorithm: HashAlgorithm; digest: Uint8Array },
  { digests, bytes }: SignedArtifact,
): Check {
  const name = HASH_NAMES[algorithm];
  const signed = name === undefined ? undefined : `${name}:${Buffer.from(digest).toString('hex')}`;
  const own =
    bytes === undefined || name === undefined
      ? digests
      : [`${name}:${createHash(name).update(bytes).digest('hex')}`];
  return signed !== undefined && own.includes(signed)
    ? passedCheck('subject', signed)
    : failedCheck('subject', `the signature is for ${signed ?? 'an unknown digest'}, not for this artifact`);
}

/** Converts a bundle for the sigstore library, and adds what the library lacks. Throws for invalid evidence. */
export function toEntity(bundle: Bundle, { bytes }: SignedArtifact): SignedEntity {
  const entity = toSignedEntity(
    bundle,
    bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  );
  const { signature } = entity;
  const { content } = bundle;
  if (content.$case === 'messageSignature') {
    if (bytes !== undefined) return entity;
    const { messageDigest, signature: given } = content.messageSignature;
    return {
      ...entity,
      signature: {
        signature: signature.signature,
        compareSignature: (other) => signature.compareSignature(other),
        compareDigest: (digest) => signature.compareDigest(digest),
        verifySignature: (key) => verifyDigestSignature(key, messageDigest.digest, given),
      },
    };
  }
  const { payload, payloadType } = content.dsseEnvelope;
  const encoded = createHash('sha256').update(dsse.preAuthEncoding(payloadType, payload)).digest();
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareSignature: (other) => signature.compareSignature(other),
      // A hashedrekord log entry contains the digest of the signed bytes, which are the encoded envelope.
      compareDigest: (digest) => signature.compareDigest(digest) || encoded.equals(digest),
      verifySignature: (key) => signature.verifySignature(key),
    },
  };
}

/** Node.js can verify signatures of bytes only, not of a digest, so a library does it. */
const CURVES: Readonly<Record<string, typeof p256>> = {
  prime256v1: p256,
  secp384r1: p384,
  secp521r1: p521,
};

/** Reports whether an ECDSA key signed the bytes with this digest. Returns false for other key types. */
function verifyDigestSignature(key: KeyObject, digest: Uint8Array, signature: Uint8Array): boolean {
  const curve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (key.asymmetricKeyType !== 'ec' || curve === undefined) return false;
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), ...[x!, y!].map((part) => Buffer.from(part, 'base64url'))]);
  try {
    // Other signers do not normalize `s` to its lower value.
    return curve.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
