import { type Bundle, bundleFromJSON, type TransparencyLogEntry } from '@sigstore/bundle';
import { exceedsDepth } from './asn1-depth.js';
import { SIGNING_LIMITS } from './limits.js';

/** Media types of bundles, written and read (sigstore bundle specification). */
const MEDIA_TYPES = /^application\/vnd\.dev\.sigstore\.bundle(\+json;version=0\.[1-3]|\.v0\.3\+json)$/;

export function isBundleMediaType(mediaType: string): boolean {
  return MEDIA_TYPES.test(mediaType);
}

/** A bundle from elsewhere, or in words why it is none. */
export function readBundle(bytes: Uint8Array): Bundle | string {
  if (bytes.byteLength === 0) return 'it is empty';
  if (bytes.byteLength > SIGNING_LIMITS.maxBundleBytes) {
    return `it has more than ${SIGNING_LIMITS.maxBundleBytes} bytes`;
  }
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return 'it is not JSON, or cut off';
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return 'it is no JSON object';
  const { mediaType } = json as { mediaType?: unknown };
  if (typeof mediaType !== 'string') return 'it has no mediaType';
  if (!isBundleMediaType(mediaType)) {
    return `its media type ${JSON.stringify(mediaType.slice(0, 100))} is not known`;
  }
  const long = findListProblem(json);
  if (long !== undefined) return long;
  let bundle: Bundle;
  try {
    bundle = bundleFromJSON(json);
  } catch (error) {
    return `it is damaged: ${describeError(error)}`;
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

/** Before anybody's signature is checked, the library's time for ASN.1 grows with its size times its levels. */
function findDerProblem(what: string, all: readonly Uint8Array[], maxBytes: number): string | undefined {
  for (const bytes of all) {
    if (bytes.byteLength > maxBytes) {
      return `a ${what} in it has ${bytes.byteLength} bytes, and at most ${maxBytes} are read`;
    }
    if (exceedsDepth(bytes, SIGNING_LIMITS.maxAsn1Levels)) {
      return `a ${what} in it has more than ${SIGNING_LIMITS.maxAsn1Levels} levels`;
    }
  }
  return undefined;
}

/** Lists that are longer than any that is read; reading their members first would take long. */
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
    return `it has ${(list as unknown[]).length} ${what}, and at most ${most} are read`;
  }
  const signatures = at(at(json, 'dsseEnvelope'), 'signatures');
  return Array.isArray(signatures) && signatures.length > 1 ? ONE_SIGNATURE : undefined;
}

const ONE_SIGNATURE = 'it is damaged: an envelope has one signature, and this one has none or several';

/** As the names of logs are: hosts with paths (C2SP signed-note). */
const SIGNER_NAME = /^[A-Za-z0-9._:/-]{1,256}$/;
/** Wherever the library finds one, which need not be the start of a line. */
const SIGNATURES = /\u2014 (\S+) \S+\n/g;
const NUMBER = /^\d{1,19}$/;

/**
 * What the library would do more with than it can bear: it takes the name of who signs a checkpoint for a regular
 * expression, which could be one that runs for years, and counts in numbers of any length.
 */
function findEntryProblem(entry: TransparencyLogEntry): string | undefined {
  const { inclusionProof, logIndex, integratedTime } = entry;
  const numbers = [logIndex, integratedTime || '0'];
  if (inclusionProof !== undefined) numbers.push(inclusionProof.logIndex, inclusionProof.treeSize);
  if (!numbers.every((number) => NUMBER.test(number)))
    return 'a log entry in it has a number that none can have';
  const envelope = inclusionProof?.checkpoint?.envelope ?? '';
  if (envelope.length > SIGNING_LIMITS.maxCheckpointLength) {
    return `a checkpoint in it has more than ${SIGNING_LIMITS.maxCheckpointLength} characters`;
  }
  const names = [...envelope.matchAll(SIGNATURES)].map(([, name]) => name!);
  if (!names.every((name) => SIGNER_NAME.test(name))) {
    return 'a checkpoint in it is signed by a name that no log can have';
  }
  return undefined;
}

function describeError(error: unknown): string {
  const { fields } = error as { fields?: readonly string[] };
  if (fields?.includes('content.dsseEnvelope.signatures') === true) {
    return 'an envelope has one signature, and this one has none or several';
  }
  if (fields !== undefined) return `missing or not as it should be: ${fields.join(', ')}`;
  return 'a field has another type than it should';
}
