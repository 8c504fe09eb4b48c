import { X509Certificate } from 'node:crypto';
import { type PublicKey, publicKeyHint, type Signer } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { Bundle, TransparencyLogEntry } from '@sigstore/bundle';
import {
  type SignedEntity,
  type TrustMaterial,
  toTrustMaterial,
  VerificationError,
  type Signer as VerifiedSigner,
  Verifier,
} from '@sigstore/verify';
import { CHECK_NAMES, type Check, type CheckName, failedCheck, passedCheck } from './check.js';
import { readBundle } from './read-bundle.js';
import type { SignedArtifact } from './signed-artifact.js';
import { checkContent, toEntity } from './signed-content.js';
import { readCertificateClaims } from './source-identity.js';
import type { Statement } from './statement.js';
import type { TrustedRoot } from './trusted-root.js';

export interface Trust {
  /** Trusted keys: a bundle that is signed with a key must be signed with one of them. */
  keys: readonly PublicKey[];
  /** Trusted certificate authorities, logs and timestamp authorities. */
  root: TrustedRoot;
}

export interface Verification {
  /** Whether all checks passed. Whether the signer is trusted is decided by the caller. */
  verified: boolean;
  /** All checks up to the first failed one. */
  checks: Check[];
  signer?: Signer;
  /** RFC 3339; only if a log or a timestamp authority provides it. */
  signedAt?: string;
  /** The signed statement; absent for a signature of plain bytes. */
  statement?: Statement;
  /** Key hint of the bundle, if it is signed with a key that is not trusted. */
  unknownKey?: string;
}

/** Verifies an untrusted bundle for an artifact. Never throws for an invalid bundle. */
export function verifyBundle(bytes: Uint8Array, artifact: SignedArtifact, trust: Trust): Verification {
  const bundle = readBundle(bytes);
  if (typeof bundle === 'string') return failedVerification([], 'bundle', bundle);
  return verifyParsedBundle(bundle, artifact, trust);
}

/** Like `verifyBundle`, for a parsed bundle. */
export function verifyParsedBundle(bundle: Bundle, artifact: SignedArtifact, trust: Trust): Verification {
  const checks: Check[] = [passedCheck('bundle', bundle.mediaType)];
  const content = checkContent(bundle, artifact, checks);
  if (content === undefined) return { verified: false, checks };
  const statement = content === 'bytes' ? {} : { statement: content };
  let entity: SignedEntity;
  try {
    entity = toEntity(bundle, artifact);
  } catch {
    return {
      ...failedVerification(checks, 'bundle', 'a certificate or a timestamp is invalid'),
      ...statement,
    };
  }
  const result = isKeyed(bundle)
    ? verifyWithKeys(bundle, entity, trust)
    : verifyWith(entity, trust.root, undefined);
  if (!('signer' in result)) {
    const before = CHECK_NAMES.slice(CHECK_NAMES.indexOf('time'), CHECK_NAMES.indexOf(result.check));
    for (const check of before) addEvidence(check, bundle, entity, checks);
    return {
      ...failedVerification(checks, result.check, result.message),
      ...statement,
      ...defined({ unknownKey: result.unknownKey }),
    };
  }
  for (const check of ['time', 'certificate', 'log'] as const) addEvidence(check, bundle, entity, checks);
  const signer = result.signer;
  checks.push(
    passedCheck(
      'signature',
      signer.type === 'key' ? `by the key ${signer.fingerprint}` : 'by the key of the certificate',
    ),
  );
  const signedAt = earliestTime(entity);
  return {
    verified: true,
    checks,
    signer,
    ...defined({ signedAt }),
    ...statement,
  };
}

function isKeyed({ verificationMaterial }: Bundle): boolean {
  return verificationMaterial.content.$case === 'publicKey';
}

/** Hints of cosign and krmhub are fingerprints, hints of other programs may be any text. */
function isFingerprint(hint: string): boolean {
  return Buffer.from(hint, 'base64').length === 32;
}

function describeHint(hint: string): string {
  if (isFingerprint(hint)) return `the key sha256:${Buffer.from(hint, 'base64').toString('hex')}`;
  return hint === '' ? 'an unnamed key' : `a key with the hint ${JSON.stringify(hint.slice(0, 100))}`;
}

type Outcome = { signer: Signer } | { check: CheckName; message: string; unknownKey?: string };

function verifyWithKeys(bundle: Bundle, entity: SignedEntity, { keys, root }: Trust): Outcome {
  const { content } = bundle.verificationMaterial;
  const hint = content.$case === 'publicKey' ? content.publicKey.hint : '';
  const hinted = keys.filter((key) => publicKeyHint(key) === hint);
  // Other programs write other hints, or none.
  const candidates = hinted.length > 0 ? hinted : keys;
  const unknown: Outcome = {
    unknownKey: hint,
    check: 'signature',
    message: `it is signed by ${describeHint(hint)}, which is not trusted`,
  };
  let last = unknown;
  for (const key of candidates) {
    const outcome = verifyWith(entity, root, key);
    if ('signer' in outcome) return outcome;
    // A failed signature check of a key without a matching hint is less useful than "unknown key".
    if (hinted.length > 0 || outcome.check !== 'signature') last = outcome;
  }
  // A fingerprint proves that it is another key. Without one, the last failure is the best explanation.
  return hinted.length === 0 && isFingerprint(hint) ? unknown : last;
}

function verifyWith(entity: SignedEntity, root: TrustedRoot, key: PublicKey | undefined): Outcome {
  const material: TrustMaterial = {
    ...trustMaterialFor(root),
    publicKey: () => {
      if (key === undefined) throw new RangeError('a certificate bundle must not ask for a key');
      return { publicKey: key.key, validFor: () => true };
    },
  };
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
    return toSigner(signer, key);
  } catch (error) {
    return toFailure(error, entity, root);
  }
}

const materials = new WeakMap<TrustedRoot, TrustMaterial>();

/** Caches parsed roots: parsing takes longer than verifying a signature, and there may be many keys to try. */
function trustMaterialFor(root: TrustedRoot): TrustMaterial {
  const known = materials.get(root);
  if (known !== undefined) return known;
  const material = toTrustMaterial(root.root);
  materials.set(root, material);
  return material;
}

function toSigner({ identity }: VerifiedSigner, key: PublicKey | undefined): Outcome {
  if (key !== undefined) return { signer: { type: 'key', fingerprint: key.fingerprint } };
  const subject = identity?.subjectAlternativeName ?? '';
  const claims = readCertificateClaims(identity?.oids ?? []);
  if (typeof claims === 'string') return { check: 'identity', message: claims };
  const { issuer = '', source } = claims;
  if (subject === '' || issuer === '') {
    return {
      check: 'identity',
      message: 'the certificate has no subject or no issuer',
    };
  }
  const hasSource = Object.keys(source).length > 0;
  return {
    signer: { type: 'identity', issuer, subject, ...defined({ source: hasSource ? source : undefined }) },
  };
}

function toFailure(
  error: unknown,
  entity: SignedEntity,
  root: TrustedRoot,
): { check: CheckName; message: string } {
  if (!(error instanceof VerificationError)) {
    return { check: 'bundle', message: 'the evidence is invalid' };
  }
  const { code, message } = error;
  if (code === 'TIMESTAMP_ERROR') {
    const none = entity.timestamps.length === 0;
    return {
      check: 'time',
      message: none
        ? 'the signing time is missing: neither a log nor a timestamp authority provides it'
        : `${message} (${root.name})`,
    };
  }
  if (code === 'CERTIFICATE_ERROR') {
    const reason = error.cause instanceof Error ? `${message}: ${error.cause.message}` : message;
    return { check: 'certificate', message: `${reason} (${root.name})` };
  }
  if (code.startsWith('TLOG')) {
    const none = entity.tlogEntries.length === 0;
    const reason = none ? 'the log entry is missing' : message;
    return { check: 'log', message: none ? reason : `${reason} (${root.name})` };
  }
  return { check: 'signature', message };
}

/** Milliseconds from 1970 that a Date can have (ECMA-262, "Time Values"). */
const MAX_TIME = 8.64e15;

function earliestTime({ timestamps }: SignedEntity): string | undefined {
  const times = timestamps.flatMap((one) => {
    if (one.$case === 'timestamp-authority') return [one.timestamp.signingTime.getTime()];
    // Only an inclusion promise is signed by the log, so only its time can be trusted.
    const { inclusionPromise, integratedTime } = one.tlogEntry;
    return inclusionPromise === undefined ? [] : [Number(integratedTime) * 1_000];
  });
  const earliest = Math.min(...times);
  // The time may be any number before the bundle is verified.
  return Math.abs(earliest) <= MAX_TIME ? new Date(earliest).toISOString() : undefined;
}

function addEvidence(check: CheckName, bundle: Bundle, entity: SignedEntity, checks: Check[]): void {
  if (check === 'time') {
    const time = earliestTime(entity);
    if (time !== undefined) checks.push(passedCheck('time', `signed at ${time}`));
  } else if (check === 'certificate') {
    const text = describeCertificate(bundle);
    if (text !== undefined) checks.push(passedCheck('certificate', text));
  } else if (check === 'log' && entity.tlogEntries.length > 0) {
    checks.push(passedCheck('log', describeLogs(entity.tlogEntries)));
  }
}

function failedVerification(checks: readonly Check[], check: CheckName, message: string): Verification {
  return { verified: false, checks: [...checks, failedCheck(check, message)] };
}

/** Describes the certificate of a bundle; undefined for a bundle that was signed with a key. */
function describeCertificate({ verificationMaterial }: Bundle): string | undefined {
  const { content } = verificationMaterial;
  const bytes =
    content.$case === 'certificate'
      ? content.certificate.rawBytes
      : content.$case === 'x509CertificateChain'
        ? content.x509CertificateChain.certificates[0]?.rawBytes
        : undefined;
  if (bytes === undefined) return undefined;
  try {
    const { issuer, validFrom, validTo } = new X509Certificate(bytes);
    const name = /^CN=(.*)$/m.exec(issuer)?.[1] ?? issuer.replaceAll('\n', ', ');
    return `by ${name}, valid from ${utc(validFrom)} to ${utc(validTo)}`;
  } catch {
    // Node.js and the sigstore library may disagree about which certificates are valid.
    return undefined;
  }
}

/** Describes the log entries of a bundle. */
function describeLogs(entries: readonly TransparencyLogEntry[]): string {
  return entries
    .map(({ logIndex, inclusionProof }) => {
      const log = inclusionProof?.checkpoint?.envelope.split('\n', 1)[0];
      return `entry ${logIndex}${log === undefined ? '' : ` of ${log}`}`;
    })
    .join(', ');
}

function utc(text: string): string {
  return new Date(text).toISOString();
}
