import { type Bundle, bundleFromJSON, type TransparencyLogEntry } from '@sigstore/bundle';
import { SIGNING_LIMITS } from './limits.js';

/** Supported media types (sigstore bundle specification). */
const MEDIA_TYPES = /^application\/vnd\.dev\.sigstore\.bundle(\+json;version=0\.[1-3]|\.v0\.3\+json)$/;

export function isBundleMediaType(mediaType: string): boolean {
  return MEDIA_TYPES.test(mediaType);
}

/** Parses an untrusted bundle, or returns the reason why it is invalid. */
export function readBundle(bytes: Uint8Array): Bundle | string {
  if (bytes.byteLength === 0) return 'it is empty';
  if (bytes.byteLength > SIGNING_LIMITS.maxBundleBytes) {
    return `it exceeds ${SIGNING_LIMITS.maxBundleBytes} bytes`;
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return 'it is not valid JSON';
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return 'it is not a JSON object';
  const { mediaType } = json as { mediaType?: unknown };
  if (typeof mediaType !== 'string') return 'it has no mediaType';
  if (!isBundleMediaType(mediaType)) {
    return `its media type ${JSON.stringify(mediaType.slice(0, 100))} is unknown`;
  }
  const long = findListProblem(json);
  if (long !== undefined) return long;
  let bundle: Bundle;
  try {
    bundle = bundleFromJSON(json);
  } catch (error) {
    return `it is invalid: ${describeError(error)}`;
  }
  const { tlogEntries, timestampVerificationData } = bundle.verificationMaterial;
  const timestamps = timestampVerificationData?.rfc3161Timestamps ?? [];
  const problems = [
    findDerProblem(
      'timestamp',
      timestamps.map(({ signedTimestamp }) => signedTimestamp),
      SIGNING_LIMITS.maxTimestampBytes,
    ),
    findDerProblem('certificate', getCertificates(bundle), SIGNING_LIMITS.maxCertificateBytes),
    ...tlogEntries.map(findEntryProblem),
  ];
  return problems.find((problem) => problem !== undefined) ?? bundle;
}

function getCertificates({ verificationMaterial: { content } }: Bundle): Uint8Array[] {
  if (content.$case === 'certificate') return [content.certificate.rawBytes];
  if (content.$case !== 'x509CertificateChain') return [];
  return content.x509CertificateChain.certificates.map(({ rawBytes }) => rawBytes);
}

/** Limits ASN.1: the parse time of the sigstore library grows with size times depth, before it checks signatures. */
function findDerProblem(what: string, all: readonly Uint8Array[], maxBytes: number): string | undefined {
  for (const bytes of all) {
    if (bytes.byteLength > maxBytes) {
      return `a ${what} has ${bytes.byteLength} bytes; the limit is ${maxBytes}`;
    }
    if (exceedsDepth(bytes, SIGNING_LIMITS.maxAsn1Levels)) {
      return `a ${what} has more than ${SIGNING_LIMITS.maxAsn1Levels} levels`;
    }
  }
  return undefined;
}

/** Checks the length of lists before their items are parsed, which takes long. */
function findListProblem(json: object): string | undefined {
  const at = (value: unknown, field: string): unknown =>
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
  const material = at(json, 'verificationMaterial');
  const lists: [string, unknown, number][] = [
    ['log entries', at(material, 'tlogEntries'), SIGNING_LIMITS.maxLogEntries],
    [
      'timestamps',
      at(at(material, 'timestampVerificationData'), 'rfc3161Timestamps'),
      SIGNING_LIMITS.maxTimestamps,
    ],
    [
      'certificates',
      at(at(material, 'x509CertificateChain'), 'certificates'),
      SIGNING_LIMITS.maxCertificates,
    ],
  ];
  const long = lists.find(([, list, most]) => Array.isArray(list) && list.length > most);
  if (long !== undefined) {
    const [what, list, most] = long;
    return `it has ${(list as unknown[]).length} ${what}; the limit is ${most}`;
  }
  const signatures = at(at(json, 'dsseEnvelope'), 'signatures');
  return Array.isArray(signatures) && signatures.length > 1 ? ONE_SIGNATURE : undefined;
}

const ONE_SIGNATURE = 'it is invalid: an envelope must have exactly one signature';

/** Names of logs: hosts with paths (C2SP signed-note). */
const SIGNER_NAME = /^[A-Za-z0-9._:/-]{1,256}$/;
/** Like the sigstore library: not only at the start of a line. */
const SIGNATURES = /\u2014 (\S+) \S+\n/g;
const NUMBER = /^\d{1,19}$/;

/**
 * Rejects input that would keep the sigstore library busy: it uses the signer name of a checkpoint as a regular
 * expression, and parses numbers of any length.
 */
function findEntryProblem(entry: TransparencyLogEntry): string | undefined {
  const { inclusionProof, logIndex, integratedTime } = entry;
  const numbers = [logIndex, integratedTime || '0'];
  if (inclusionProof !== undefined) numbers.push(inclusionProof.logIndex, inclusionProof.treeSize);
  if (!numbers.every((number) => NUMBER.test(number))) return 'a log entry has an invalid number';
  const envelope = inclusionProof?.checkpoint?.envelope ?? '';
  if (envelope.length > SIGNING_LIMITS.maxCheckpointLength) {
    return `a checkpoint has more than ${SIGNING_LIMITS.maxCheckpointLength} characters`;
  }
  const names = [...envelope.matchAll(SIGNATURES)].map(([, name]) => name!);
  if (!names.every((name) => SIGNER_NAME.test(name))) {
    return 'a checkpoint has an invalid signer name';
  }
  return undefined;
}

function describeError(error: unknown): string {
  const { fields } = error as { fields?: readonly string[] };
  if (fields?.includes('content.dsseEnvelope.signatures') === true) {
    return 'an envelope must have exactly one signature';
  }
  if (fields !== undefined) return `missing or invalid: ${fields.join(', ')}`;
  return 'a field has the wrong type';
}

const CONSTRUCTED = 0x20;
const OCTET_STRING = 0x04;

/**
 * Reports whether DER values (X.690) are nested deeper than `levels`. Octet strings count too, because the sigstore
 * library parses their content. Invalid DER returns false: the library rejects it before anything else.
 */
function exceedsDepth(bytes: Uint8Array, levels: number, start = 0, end = bytes.length): boolean {
  for (let at = start; at + 2 <= end; ) {
    const tag = bytes[at]!;
    let length = bytes[at + 1]!;
    at += 2;
    if (length >= 0x80) {
      const count = length - 0x80;
      if (count > 6 || at + count > end) return false;
      length = 0;
      for (let one = 0; one < count; one++) length = length * 256 + bytes[at + one]!;
      at += count;
    }
    if (at + length > end) return false;
    if ((tag & CONSTRUCTED) !== 0 || tag === OCTET_STRING) {
      if (levels === 0 || exceedsDepth(bytes, levels - 1, at, at + length)) return true;
    }
    at += length;
  }
  return false;
}
