import { defined } from '@krmhub/schema/defined';
import { SOURCE_EXTENSIONS, type SourceIdentity } from '@krmhub/schema/documents/signer';
import { SIGNING_LIMITS } from './limits.js';

/** Extensions of certificates of Fulcio (sigstore/fulcio, "oid-info.md"). */
const ARC = '1.3.6.1.4.1.57264.1.';
const ISSUER = `${ARC}8`;

/** Extensions that certificates had before: the bytes are the text. Fulcio still writes them for GitHub. */
const LEGACY_ISSUER = `${ARC}1`;
const GITHUB_REPOSITORY = `${ARC}5`;
const LEGACY = {
  buildTrigger: `${ARC}2`,
  sourceRepositoryDigest: `${ARC}3`,
  sourceRepositoryRef: `${ARC}6`,
} as const;

/** An extension of a certificate, as the sigstore library returns it. */
export interface CertificateExtension {
  oid?: { id: readonly number[] } | undefined;
  value: Uint8Array;
}

export interface CertificateClaims {
  issuer?: string;
  source: SourceIdentity;
}

/**
 * Reads what a verified certificate states about its issuer and source, or returns why an extension is invalid. A
 * certificate with two values for one name would be read differently by each tool.
 */
export function readCertificateClaims(
  extensions: readonly CertificateExtension[],
): CertificateClaims | string {
  const values = new Map<string, Uint8Array>();
  for (const { oid, value } of extensions) {
    const id = oid?.id.join('.') ?? '';
    if (values.has(id)) return `the certificate has the extension ${id} twice`;
    values.set(id, value);
  }
  const problems: string[] = [];
  const read = (id: string, parse: (value: Uint8Array) => Uint8Array | string): string | undefined => {
    const value = values.get(id);
    if (value === undefined) return undefined;
    const bytes = parse(value);
    const text = typeof bytes === 'string' ? { problem: bytes } : readText(bytes);
    if ('text' in text) return text.text === '' ? undefined : text.text;
    problems.push(`the extension ${id} of the certificate ${text.problem}`);
    return undefined;
  };
  const raw = (value: Uint8Array) => value;
  const issuer = read(ISSUER, utf8String) ?? read(LEGACY_ISSUER, raw);
  const source: SourceIdentity = {};
  const set = (name: keyof SourceIdentity, text: string | undefined) => {
    if (text !== undefined) source[name] ??= text;
  };
  for (const [name, number] of Object.entries(SOURCE_EXTENSIONS)) {
    set(name as keyof SourceIdentity, read(`${ARC}${number}`, utf8String));
  }
  for (const [name, id] of Object.entries(LEGACY)) set(name as keyof typeof LEGACY, read(id, raw));
  const repository = read(GITHUB_REPOSITORY, raw);
  // The old extension has no host. Only this issuer is always of the same one.
  if (issuer === 'https://token.actions.githubusercontent.com' && repository !== undefined) {
    set('sourceRepositoryURI', `https://github.com/${repository}`);
  }
  return problems[0] ?? { ...defined({ issuer }), source };
}

const UTF8_STRING = 0x0c;

/** Returns the content of one DER UTF8String (X.690), or the reason why it is none. */
function utf8String(value: Uint8Array): Uint8Array | string {
  const [tag, first = 0] = value;
  if (tag !== UTF8_STRING) return 'is not a UTF8String';
  const count = first < 0x80 ? 0 : first - 0x80;
  const start = 2 + count;
  const length = count === 0 ? first : value.subarray(2, start).reduce((sum, byte) => sum * 256 + byte, 0);
  // DER has one encoding of each length.
  const isShortest = count === 0 || (count <= 4 && length >= 0x80 && value[2] !== 0);
  if (!isShortest || start + length !== value.length) return 'is not valid DER';
  return value.subarray(start);
}

function readText(bytes: Uint8Array): { text: string } | { problem: string } {
  const { maxExtensionBytes } = SIGNING_LIMITS;
  if (bytes.length > maxExtensionBytes) {
    return { problem: `has ${bytes.length} bytes; the limit is ${maxExtensionBytes}` };
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { problem: 'is not UTF-8' };
  }
  // Hidden characters are escaped where they are shown. No name of a source has these.
  return /\p{Cc}/u.test(text) ? { problem: 'contains control characters' } : { text };
}
