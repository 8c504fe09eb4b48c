import { createHash, X509Certificate } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import { z } from 'zod';
import { type Check, failedCheck, passedCheck } from './check.js';
import { readBundle } from './read-bundle.js';
import { type Trust, type Verification, verifyParsedBundle } from './verify.js';

/**
 * Signatures of cosign before bundles: layers of an image with the tag `sha256-….sig`. The layer contains the payload
 * (containers/image, "simple signing"), its annotations contain the signature and the evidence.
 */
export const LEGACY_LAYER = 'application/vnd.dev.cosign.simplesigning.v1+json';
const SIGNATURE = 'dev.cosignproject.cosign/signature';
const CERTIFICATE = 'dev.sigstore.cosign/certificate';
const LOG_ENTRY = 'dev.sigstore.cosign/bundle';
const TIMESTAMP = 'dev.sigstore.cosign/rfc3161timestamp';
/** Bundle version whose log entries may have an inclusion promise without a proof. */
const FIRST_BUNDLE = 'application/vnd.dev.sigstore.bundle+json;version=0.1';

const Payload = z.object({
  critical: z.object({
    type: z.literal('cosign container image signature'),
    image: z.object({ 'docker-manifest-digest': z.string() }),
  }),
});
const LogEntry = z.object({
  SignedEntryTimestamp: z.base64(),
  Payload: z.object({
    body: z.base64(),
    integratedTime: z.int(),
    logIndex: z.int(),
    logID: z.string().regex(/^[a-f0-9]{64}$/),
  }),
});
const EntryBody = z.object({ kind: z.string(), apiVersion: z.string() });
const Timestamp = z.object({ SignedRFC3161Timestamp: z.base64() });

export interface LegacySignature {
  payload: Uint8Array;
  annotations: Readonly<Record<string, string>>;
}

/** Converts the signature into a bundle over the payload, or returns the reason why it is invalid. */
export function readLegacySignature({ payload, annotations }: LegacySignature): Bundle | string {
  const signature = annotations[SIGNATURE];
  if (signature === undefined || signature === '') return 'it has no signature';
  const entry = read(LogEntry, annotations[LOG_ENTRY]);
  const timestamp = read(Timestamp, annotations[TIMESTAMP]);
  if (entry === null || timestamp === null) return 'an annotation with evidence is invalid';
  const certificate = certificateIn(annotations[CERTIFICATE]);
  if (certificate === null) return 'its certificate is invalid';
  const body = entry && read(EntryBody, Buffer.from(entry.Payload.body, 'base64').toString('utf8'));
  if (body === null) return 'its log entry is invalid';
  const json = {
    mediaType: FIRST_BUNDLE,
    verificationMaterial: {
      ...(certificate === undefined
        ? { publicKey: { hint: '' } }
        : { x509CertificateChain: { certificates: [{ rawBytes: certificate }] } }),
      tlogEntries: entry && body ? [logEntry(entry, body)] : [],
      timestampVerificationData: {
        rfc3161Timestamps: timestamp ? [{ signedTimestamp: timestamp.SignedRFC3161Timestamp }] : [],
      },
    },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(payload).digest('base64') },
      signature,
    },
  };
  return readBundle(new TextEncoder().encode(JSON.stringify(json)));
}

/** Verifies a legacy signature for a manifest digest, as `verifyBundle` verifies a bundle. */
export function verifyLegacySignature(
  signature: LegacySignature,
  manifest: string,
  trust: Trust,
): Verification {
  const bundle = readLegacySignature(signature);
  if (typeof bundle === 'string') return { verified: false, checks: [failedCheck('bundle', bundle)] };
  const { payload } = signature;
  const subject = checkPayload(payload, manifest);
  if (!subject.passed) return { verified: false, checks: [passedCheck('bundle', LEGACY_LAYER), subject] };
  const verification = verifyParsedBundle(bundle, { digests: [], bytes: payload }, trust);
  const checks = verification.checks.map((check) => {
    if (!check.passed) return check;
    if (check.check === 'bundle') return passedCheck('bundle', LEGACY_LAYER);
    return check.check === 'subject' ? subject : check;
  });
  return { ...verification, checks };
}

function checkPayload(payload: Uint8Array, manifest: string): Check {
  const signed = read(Payload, new TextDecoder().decode(payload));
  if (!signed) return failedCheck('subject', 'the signed payload does not describe an image');
  const digest = signed.critical.image['docker-manifest-digest'];
  return digest === manifest
    ? passedCheck('subject', manifest)
    : failedCheck('subject', `the signature is for ${digest.slice(0, 100)}, not for this manifest`);
}

function logEntry(entry: z.infer<typeof LogEntry>, { kind, apiVersion }: z.infer<typeof EntryBody>) {
  const { body, integratedTime, logIndex, logID } = entry.Payload;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, 'hex').toString('base64') },
    kindVersion: { kind, version: apiVersion },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp: entry.SignedEntryTimestamp },
    canonicalizedBody: body,
  };
}

/** Returns the DER certificate in base64; undefined if there is none, null if it is invalid. */
function certificateIn(pem: string | undefined): string | undefined | null {
  if (pem === undefined || pem === '') return undefined;
  try {
    return new X509Certificate(pem).raw.toString('base64');
  } catch {
    return null;
  }
}

/** Parses JSON; returns undefined for no text, null if it does not match the schema. */
function read<Shape extends z.ZodType>(
  shape: Shape,
  text: string | undefined,
): z.infer<Shape> | undefined | null {
  if (text === undefined || text === '') return undefined;
  try {
    return shape.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
