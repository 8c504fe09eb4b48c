import { createHash } from 'node:crypto';
import { type Digest, hintOf, type PublicKey } from '@krmhub/schema';
import type { Bundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { HashAlgorithm } from '@sigstore/protobuf-specs';
import {
  type SignedEntity,
  toSignedEntity,
  toTrustMaterial,
  VerificationError,
  type Signer as VerifiedSigner,
  Verifier,
} from '@sigstore/verify';
import { describeCertificate, describeLogs } from './describe-evidence.js';
import { readBundle } from './read-bundle.js';
import { hasSubject, IN_TOTO_MEDIA_TYPE, readStatement, type Statement } from './statement.js';
import type { TrustedRoot } from './trusted-root.js';

/** In the order in which they are made. */
export const CHECK_NAMES = [
  'bundle',
  'statement',
  'subject',
  'time',
  'certificate',
  'log',
  'signature',
  'identity',
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

export interface Check {
  check: CheckName;
  passed: boolean;
  /** What was found, or why it is a refusal. */
  message: string;
}

/** Who signed: a key, or somebody whom an issuer of certificates has seen to be that. */
export type Signer =
  | { type: 'key'; fingerprint: Digest }
  | { type: 'identity'; issuer: string; subject: string };

/** What a bundle is to be a signature of. */
export interface SignedArtifact {
  /** `ALGORITHM:HEX`; a bundle that speaks of one of them speaks of the artifact. */
  digests: readonly string[];
  /** The bytes themselves, which a signature without an envelope is checked over. */
  bytes?: Uint8Array;
}

export interface Trust {
  /** A bundle that a key signed holds where one of them did. */
  keys: readonly PublicKey[];
  /** What certificates, log entries and timestamps are held against. */
  root: TrustedRoot;
}

export interface Verification {
  /** Whether everything holds; who signed is then still to be judged. */
  verified: boolean;
  /** Up to the first that failed. */
  checks: Check[];
  signer?: Signer;
  /** When it was signed, where a log or an authority testifies that; RFC 3339. */
  signedAt?: string;
  /** What was signed; absent for a signature over bare bytes. */
  statement?: Statement;
  /** Where a key signed that is none of those that are trusted: what the bundle names it by. */
  unknownKey?: string;
}

/** Holds a bundle from anywhere against an artifact and what is trusted. Never throws for what the bundle holds. */
export function verifyBundle(bytes: Uint8Array, artifact: SignedArtifact, trust: Trust): Verification {
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return refusal([], 'bundle', bundle);
  return verifyRead(bundle, artifact, trust);
}

/** As `verifyBundle`, for a bundle that is read already. */
export function verifyRead(bundle: Bundle, artifact: SignedArtifact, trust: Trust): Verification {
  const checks: Check[] = [passed('bundle', bundle.mediaType)];
  const content = contentOf(bundle, artifact, checks);
  if (content === undefined) return { verified: false, checks };
  const statement = content === 'bytes' ? {} : { statement: content };
  let entity: SignedEntity;
  try {
    entity = entityOf(bundle, artifact);
  } catch {
    return { ...refusal(checks, 'bundle', 'a certificate or a timestamp in it is damaged'), ...statement };
  }
  const result = isKeyed(bundle)
    ? verifyWithKeys(bundle, entity, trust)
    : verifyWith(entity, trust.root, undefined);
  if (!('signer' in result)) {
    const before = CHECK_NAMES.slice(CHECK_NAMES.indexOf('time'), CHECK_NAMES.indexOf(result.check));
    for (const check of before) describe(check, bundle, entity, checks);
    return {
      ...refusal(checks, result.check, result.message),
      ...statement,
      ...(result.unknownKey === undefined ? {} : { unknownKey: result.unknownKey }),
    };
  }
  for (const check of ['time', 'certificate', 'log'] as const) describe(check, bundle, entity, checks);
  const signer = result.signer;
  checks.push(
    passed(
      'signature',
      signer.type === 'key' ? `by the key ${signer.fingerprint}` : 'by the key of the certificate',
    ),
  );
  const signedAt = earliestTime(entity);
  return {
    verified: true,
    checks,
    signer,
    ...(signedAt === undefined ? {} : { signedAt }),
    ...statement,
  };
}

/** Whether what is signed is this artifact; without that, a valid signature of anything else would do. */
function contentOf(
  { content }: Bundle,
  artifact: SignedArtifact,
  checks: Check[],
): Statement | 'bytes' | undefined {
  if (content.$case === 'messageSignature') {
    const { algorithm, digest } = content.messageSignature.messageDigest;
    const name = HASH_NAMES[algorithm];
    const signed = name === undefined ? undefined : `${name}:${Buffer.from(digest).toString('hex')}`;
    const own = artifact.bytes;
    const computed =
      own === undefined || name === undefined
        ? []
        : [`${name}:${createHash(name).update(own).digest('hex')}`];
    const isArtifact =
      own === undefined ? artifact.digests.includes(signed ?? '') : computed.includes(signed ?? '');
    if (!isArtifact) {
      checks.push(
        failed('subject', `the signature is of ${signed ?? 'an unknown digest'}, which is something else`),
      );
      return undefined;
    }
    if (own === undefined) {
      checks.push(
        failed('subject', 'a signature over bare bytes is checked over the file itself, not its digest'),
      );
      return undefined;
    }
    checks.push(passed('subject', signed!));
    return 'bytes';
  }
  const { payload, payloadType } = content.dsseEnvelope;
  if (payloadType !== IN_TOTO_MEDIA_TYPE) {
    checks.push(
      failed(
        'statement',
        `the payload is ${JSON.stringify(payloadType.slice(0, 100))}, not ${IN_TOTO_MEDIA_TYPE}`,
      ),
    );
    return undefined;
  }
  const statement = readStatement(payload);
  if (typeof statement === 'string') {
    checks.push(failed('statement', statement));
    return undefined;
  }
  checks.push(passed('statement', statement.predicateType));
  if (!hasSubject(statement, artifact.digests)) {
    const names = statement.subject
      .slice(0, 3)
      .map(({ digest }) => Object.entries(digest)[0]?.join(':') ?? 'nothing');
    checks.push(failed('subject', `it speaks of ${names.join(', ')}, and not of this`));
    return undefined;
  }
  checks.push(passed('subject', artifact.digests.find((digest) => hasSubject(statement, [digest]))!));
  return statement;
}

const HASH_NAMES: Partial<Record<HashAlgorithm, string>> = {
  [HashAlgorithm.SHA2_256]: 'sha256',
  [HashAlgorithm.SHA2_384]: 'sha384',
  [HashAlgorithm.SHA2_512]: 'sha512',
};

function entityOf(bundle: Bundle, { bytes }: SignedArtifact): SignedEntity {
  const entity = toSignedEntity(
    bundle,
    bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  );
  if (bundle.content.$case !== 'dsseEnvelope') return entity;
  const { payload, payloadType } = bundle.content.dsseEnvelope;
  const { signature } = entity;
  const encoded = createHash('sha256').update(dsse.preAuthEncoding(payloadType, payload)).digest();
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareSignature: (other) => signature.compareSignature(other),
      // A log entry of the type hashedrekord has the digest of what was signed, and that is the encoded envelope.
      compareDigest: (digest) => signature.compareDigest(digest) || encoded.equals(digest),
      verifySignature: (key) => signature.verifySignature(key),
    },
  };
}

function isKeyed({ verificationMaterial }: Bundle): boolean {
  return verificationMaterial.content.$case === 'publicKey';
}

type Outcome = { signer: Signer } | { check: CheckName; message: string; unknownKey?: string };

function verifyWithKeys(bundle: Bundle, entity: SignedEntity, { keys, root }: Trust): Outcome {
  const { content } = bundle.verificationMaterial;
  const hint = content.$case === 'publicKey' ? content.publicKey.hint : '';
  const hinted = keys.filter((key) => hintOf(key) === hint);
  // Other programs give other hints, or none.
  const candidates = hinted.length > 0 ? hinted : keys;
  const unknown: Outcome = {
    unknownKey: hint,
    check: 'signature',
    message: `it is signed by a key that is not trusted here${hint === '' ? '' : `, with the hint ${hint.slice(0, 100)}`}`,
  };
  let last = unknown;
  for (const key of candidates) {
    const outcome = verifyWith(entity, root, key);
    if ('signer' in outcome) return outcome;
    last = outcome;
  }
  return hinted.length > 0 ? last : unknown;
}

function verifyWith(entity: SignedEntity, root: TrustedRoot, key: PublicKey | undefined): Outcome {
  const material = toTrustMaterial(root.root, () => {
    if (key === undefined) throw new RangeError('no key is asked for where a certificate signs');
    return { publicKey: key.key, validFor: () => true };
  });
  const thresholds =
    key === undefined
      ? {
          tlogThreshold: root.requires.log ? 1 : 0,
          ctlogThreshold: root.requires.certificateLog ? 1 : 0,
          timestampThreshold: 1,
        }
      : { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
  try {
    const signer = new Verifier(material, thresholds).verify(entity);
    return signerOf(signer, key);
  } catch (error) {
    return problemOf(error, entity, root);
  }
}

function signerOf({ identity }: VerifiedSigner, key: PublicKey | undefined): Outcome {
  if (key !== undefined) return { signer: { type: 'key', fingerprint: key.fingerprint } };
  const subject = identity?.subjectAlternativeName ?? '';
  const issuer = identity?.extensions?.issuer ?? '';
  if (subject === '' || issuer === '') {
    return {
      check: 'identity',
      message: 'the certificate does not say for whom it is, or who has seen that',
    };
  }
  return { signer: { type: 'identity', issuer, subject } };
}

function problemOf(
  error: unknown,
  entity: SignedEntity,
  root: TrustedRoot,
): { check: CheckName; message: string } {
  if (!(error instanceof VerificationError)) {
    return { check: 'bundle', message: 'the evidence in it is damaged' };
  }
  const { code, message } = error;
  if (code === 'TIMESTAMP_ERROR') {
    const none = entity.timestamps.length === 0;
    return {
      check: 'time',
      message: none ? 'nothing testifies when it was signed' : `${message} (${root.name})`,
    };
  }
  if (code === 'CERTIFICATE_ERROR') {
    const reason = error.cause instanceof Error ? `${message}: ${error.cause.message}` : message;
    return { check: 'certificate', message: `${reason} (${root.name})` };
  }
  if (code.startsWith('TLOG')) {
    const none = entity.tlogEntries.length === 0;
    const reason = none ? 'no log has an entry of it' : message;
    return { check: 'log', message: none ? reason : `${reason} (${root.name})` };
  }
  return { check: 'signature', message };
}

function earliestTime({ timestamps }: SignedEntity): string | undefined {
  const times = timestamps.flatMap((one) => {
    if (one.$case === 'timestamp-authority') return [one.timestamp.signingTime.getTime()];
    // Only a promise that the log signed has a time that can be believed.
    const { inclusionPromise, integratedTime } = one.tlogEntry;
    return inclusionPromise === undefined ? [] : [Number(integratedTime) * 1_000];
  });
  return times.length === 0 ? undefined : new Date(Math.min(...times)).toISOString();
}

function describe(check: CheckName, bundle: Bundle, entity: SignedEntity, checks: Check[]): void {
  if (check === 'time') {
    const time = earliestTime(entity);
    if (time !== undefined) checks.push(passed('time', `signed at ${time}`));
  } else if (check === 'certificate') {
    const text = describeCertificate(bundle);
    if (text !== undefined) checks.push(passed('certificate', text));
  } else if (check === 'log' && entity.tlogEntries.length > 0) {
    checks.push(passed('log', describeLogs(entity.tlogEntries)));
  }
}

function passed(check: CheckName, message: string): Check {
  return { check, passed: true, message };
}

function failed(check: CheckName, message: string): Check {
  return { check, passed: false, message };
}

function refusal(checks: readonly Check[], check: CheckName, message: string): Verification {
  return { verified: false, checks: [...checks, failed(check, message)] };
}
