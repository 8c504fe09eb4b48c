import type { JsonObject, JsonValue, Path } from '@krmhub/schema';
import { type PolicyFields, readKey, readValidity, VALIDITY_FIELDS } from './fields.js';
import { compilePattern, POLICY_LIMITS, type TrustedSigner } from './signing-policy.js';

/** For which groups a policy speaks, and whom it trusts: of SigningPolicies and of the policies in recipes. */

/** Characters that a glob over groups can have (Kubernetes, "DNS Subdomain Names", and `*`). */
const GROUP_GLOB = /^[a-z0-9*]([-a-z0-9.*]{0,251}[a-z0-9*])?$/;
export const SIGNER_FIELDS = [
  'key',
  'issuer',
  'subject',
  'subjectPattern',
  ...VALIDITY_FIELDS,
  'revoked',
] as const;

export function readGroups(
  value: JsonValue | undefined,
  at: Path,
  fields: PolicyFields,
): string[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, POLICY_LIMITS.maxGroups);
  if (list?.length === 0) fields.report('policy/missing-field', at, 'a policy must have at least one group');
  return list?.flatMap((item, index) => {
    const glob = fields.text(item, [...at, index]);
    if (glob !== undefined && !GROUP_GLOB.test(glob)) {
      fields.report('policy/group', [...at, index], `"${glob}" matches no group`);
    }
    return glob ?? [];
  });
}

/** `ofPath` is the way out where there is the path of a file in place of a key. */
export function readSigners(
  value: JsonValue | undefined,
  at: Path,
  fields: PolicyFields,
  ofPath?: string,
): TrustedSigner[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, POLICY_LIMITS.maxSigners);
  if (list?.length === 0) fields.report('policy/missing-field', at, 'a policy must have at least one signer');
  return list?.flatMap((item, index) => readSigner(item, [...at, index], fields, ofPath) ?? []);
}

function readSigner(
  value: JsonValue,
  at: Path,
  fields: PolicyFields,
  ofPath?: string,
): TrustedSigner | undefined {
  const signer = fields.mapping(value, at, { optional: SIGNER_FIELDS });
  return signer === undefined ? undefined : readSignerFields(signer, at, fields, ofPath);
}

/** The signer that the fields `SIGNER_FIELDS` of a mapping name; other fields are not looked at. */
export function readSignerFields(
  signer: JsonObject,
  at: Path,
  fields: PolicyFields,
  ofPath?: string,
): TrustedSigner | undefined {
  const text = (name: string) =>
    signer[name] === undefined ? undefined : fields.text(signer[name], [...at, name]);
  const times = readValidity(text, at, fields);
  const revoked = text('revoked');
  const rest = { ...times, ...(revoked === undefined ? {} : { revoked }) };
  const isKey = signer.key !== undefined;
  const subjects = [signer.subject, signer.subjectPattern].filter((one) => one !== undefined);
  if (
    isKey
      ? signer.issuer !== undefined || subjects.length > 0
      : signer.issuer === undefined || subjects.length !== 1
  ) {
    fields.report('policy/signer', at, 'a signer must be a key, or an issuer with one subject or pattern');
    return undefined;
  }
  if (isKey) {
    const key = readKey(text('key'), [...at, 'key'], fields, ofPath);
    return key === undefined ? undefined : { key: key.pem, fingerprint: key.fingerprint, ...rest };
  }
  const issuer = text('issuer');
  const subject = text('subject');
  const subjectPattern = text('subjectPattern');
  if (subjectPattern !== undefined) checkPattern(subjectPattern, [...at, 'subjectPattern'], fields);
  if (issuer === undefined) return undefined;
  if (subject !== undefined) return { issuer, subject, ...rest };
  return subjectPattern === undefined ? undefined : { issuer, subjectPattern, ...rest };
}

function checkPattern(pattern: string, at: Path, fields: PolicyFields): void {
  const { maxPatternLength } = POLICY_LIMITS;
  if (pattern.length > maxPatternLength) {
    const message = `the pattern has ${pattern.length} characters; the limit is ${maxPatternLength}`;
    fields.report('policy/limit', at, message);
    return;
  }
  if (!pattern.startsWith('^') || !pattern.endsWith('$') || /(^|[^\\])(\\\\)*\\\$$/.test(pattern)) {
    fields.report('policy/pattern', at, 'the pattern is not anchored with `^` and `$`');
    return;
  }
  try {
    compilePattern(pattern);
  } catch (error) {
    fields.report('policy/pattern', at, `not a valid regular expression: ${(error as Error).message}`);
  }
}
