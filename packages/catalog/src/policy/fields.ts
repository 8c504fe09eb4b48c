import {
  compareDiagnostics,
  type Diagnostic,
  hasErrors,
  type JsonValue,
  KrmhubError,
  type PublicKey,
  readPublicKey,
  readYaml,
  type YamlDocument,
} from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import { DNS_LABEL, type Field, FieldReader, fileDiagnostic } from '../fields/field.js';
import { POLICY_CODES, type PolicyCode } from './codes.js';
import type { Danger } from './dangers.js';
import { POLICY_LIMITS, type Validity } from './signing-policy.js';

/** Common parts of signing policies and trust files. */

/** A field of a policy or trust file. */
export type PolicyField = Field<PolicyCode>;

const RFC3339_UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/;
/** Matches text with only blank lines, comments, and markers, which contains no policy. */
const NO_DOCUMENTS = /^(?:[ \t]*(?:#[^\n]*|---[ \t]*)?(?:\r?\n|$))*$/;
export const VALIDITY_FIELDS = ['validFrom', 'validUntil'] as const;
/** The hint for a key that YAML folded into one line, or that is the path of a file. */
const BLOCK_SCALAR_HINT = 'Use `key: |`, and paste the lines of the .pub file below it, indented.';
/** Warnings about YAML 1.1, which do not apply because only krmhub reads these documents. */
const VALIDITY_PATH = /\.(validFrom|validUntil)$/;

/**
 * Reads a file of documents with `readOne`, and reports all problems. Returns nothing for a file with more than
 * `maxPatterns` subject patterns. In messages, `whole` starts a sentence about the file ("the file has"), and
 * `documents` is the plural of its content.
 */
export function readPolicyFile(
  bytes: Uint8Array,
  {
    file,
    whole,
    documents: each,
    maxPatterns = Number.POSITIVE_INFINITY,
  }: { file: string; whole: string; documents: string; maxPatterns?: number },
  readOne: (root: PolicyField) => void,
): Diagnostic[] {
  const { maxBytes, maxPolicies } = POLICY_LIMITS;
  if (bytes.byteLength > maxBytes) {
    const message = `${whole} ${bytes.byteLength} bytes; the limit is ${maxBytes}`;
    return [fileDiagnostic(POLICY_CODES, 'policy/limit', file, message)];
  }
  if (NO_DOCUMENTS.test(new TextDecoder().decode(bytes))) return [];
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return diagnostics;
  const all = withoutDateWarnings(diagnostics);
  if (documents.length > maxPolicies) {
    const message = `there are ${documents.length} ${each}; the limit is ${maxPolicies}`;
    return [...all, fileDiagnostic(POLICY_CODES, 'policy/limit', file, message)];
  }
  const patterns = countPatterns(
    documents.map(({ value }) => (isObject(value) ? (value.spec ?? null) : null)),
  );
  if (patterns > maxPatterns) {
    const message = `there are ${patterns} patterns; the limit is ${maxPatterns}`;
    return [...all, fileDiagnostic(POLICY_CODES, 'policy/limit', file, message)];
  }
  for (const document of documents) {
    const reader = policyFields(document, file);
    readOne(reader.root);
    all.push(...reader.diagnostics);
  }
  return all.sort(compareDiagnostics);
}

/** Counts the subject patterns before any of them is compiled, because compiling is slow. */
export function countPatterns(values: readonly JsonValue[]): number {
  const has = (value: JsonValue) => isObject(value) && value.subjectPattern !== undefined;
  return values.reduce<number>((sum, value) => {
    if (!isObject(value)) return sum;
    const { signers = [], testers = [], attestations = [] } = value;
    const attesting = [attestations].flat().flatMap((one) => (isObject(one) ? (one.signers ?? []) : []));
    return sum + (has(value) ? 1 : 0) + [signers, testers, attesting].flat().filter(has).length;
  }, 0);
}

/** Returns the YAML diagnostics, except those about times without quotes. */
export function withoutDateWarnings(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ code, path }) => code !== 'yaml/legacy-scalar' || !VALIDITY_PATH.test(path));
}

export function policyFields(document: YamlDocument, file: string): FieldReader<PolicyCode> {
  return new FieldReader(document, file, 'policy', POLICY_CODES, POLICY_LIMITS.maxTextLength);
}

export function reportDangers(dangers: readonly Danger[], field: PolicyField): void {
  for (const { code, message, hint } of dangers) field.report(code, message, { hint });
}

/** Returns the name in the metadata of a document. */
export function readName(root: PolicyField): string | undefined {
  const field = root
    .get('metadata')
    ?.mapping({ required: ['name'] })
    ?.get('name');
  const name = field?.text();
  if (name !== undefined && !DNS_LABEL.test(name)) {
    field?.report('policy/name', `"${name}" is not a DNS label`);
  }
  return name;
}

/** `ofPath` is the hint if the key is a path. */
export function readKey(
  field: PolicyField | undefined,
  ofPath: string = BLOCK_SCALAR_HINT,
): PublicKey | undefined {
  const pem = field?.text();
  if (pem === undefined) return undefined;
  try {
    return readPublicKey(pem, 'the key');
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    const oneLine = pem.includes('-----BEGIN') ? BLOCK_SCALAR_HINT : ofPath;
    const hint = /\n./.test(pem) || pem.includes('PRIVATE KEY') ? error.hint : oneLine;
    field?.report('policy/key', error.message, { hint });
    return undefined;
  }
}

export function readValidity(signer: PolicyField): Validity {
  const times: Validity = {};
  for (const name of VALIDITY_FIELDS) {
    const field = signer.get(name);
    const written = field?.text();
    if (written === undefined) continue;
    const date = new Date(written);
    if (!RFC3339_UTC.test(written) || Number.isNaN(date.getTime())) {
      field?.report('policy/time', `"${written}" is not a UTC time`);
    } else times[name] = date.toISOString();
  }
  const { validFrom, validUntil } = times;
  if (validFrom !== undefined && validUntil !== undefined && validFrom >= validUntil) {
    signer.get('validUntil')?.report('policy/time', 'it ends before it begins');
  }
  return times;
}
