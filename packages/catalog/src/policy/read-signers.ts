import type { JsonObject, JsonValue, Path } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { exactDangers, groupDangers, issuerDangers, patternDangers } from './dangers.js';
import { type PolicyFields, readKey, readValidity, reportDangers, VALIDITY_FIELDS } from './fields.js';
import { compilePattern, POLICY_LIMITS, type TrustedSigner } from './signing-policy.js';

/** Reads the groups and signers of a SigningPolicy, or of a policy in a recipe. */

/** Matches a glob for groups (Kubernetes, "DNS Subdomain Names", and `*`). */
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
      fields.report('policy/group', [...at, index], `"${glob}" cannot match any group`);
    } else if (glob !== undefined) reportDangers(groupDangers(glob), [...at, index], fields);
    return glob ?? [];
  });
}

/** `ofPath` is the hint if the key is a path. */
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

/** Reads the signer in the fields `SIGNER_FIELDS` of a mapping. Ignores other fields. */
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
  const rest = { ...times, ...defined({ revoked }) };
  const problem = signerProblem(signer);
  if (problem !== undefined) {
    fields.report('policy/signer', at, problem.message, { hint: problem.hint });
    return undefined;
  }
  if (signer.key !== undefined) {
    const key = readKey(text('key'), [...at, 'key'], fields, ofPath);
    return key === undefined ? undefined : { key: key.pem, fingerprint: key.fingerprint, ...rest };
  }
  const issuer = text('issuer');
  const subject = text('subject');
  const subjectPattern = text('subjectPattern');
  if (issuer !== undefined) {
    const insecure = revoked === undefined ? issuerDangers(issuer) : [];
    reportDangers([...exactDangers('issuer', issuer), ...insecure], [...at, 'issuer'], fields);
  }
  if (subject !== undefined) reportDangers(exactDangers('subject', subject), [...at, 'subject'], fields);
  if (subjectPattern !== undefined) {
    const matches = checkPattern(subjectPattern, [...at, 'subjectPattern'], fields);
    // A revocation can be broad, because it reduces trust.
    const dangers =
      matches === undefined || revoked !== undefined ? [] : patternDangers(subjectPattern, matches);
    reportDangers(dangers, [...at, 'subjectPattern'], fields);
  }
  if (issuer === undefined) return undefined;
  if (subject !== undefined) return { issuer, subject, ...rest };
  return subjectPattern === undefined ? undefined : { issuer, subjectPattern, ...rest };
}

/** Returns why fields do not identify one signer: something is missing, or there are two. */
function signerProblem(signer: JsonObject): { message: string; hint: string } | undefined {
  const has = (name: (typeof SIGNER_FIELDS)[number]) => signer[name] !== undefined;
  const identity = (['issuer', 'subject', 'subjectPattern'] as const).find(has);
  if (has('key')) {
    if (identity === undefined) return undefined;
    return {
      message: `\`key\` cannot be combined with \`${identity}\``,
      hint: 'Use two signers: one with `key`, and one with `issuer` and `subject`.',
    };
  }
  if (identity === undefined) {
    return {
      message: 'the signer has neither `key` nor `issuer`',
      hint: 'Add `key`, or `issuer` with `subject` or `subjectPattern`.',
    };
  }
  if (has('subject') && has('subjectPattern')) {
    return {
      message: '`subject` cannot be combined with `subjectPattern`',
      hint: 'Keep `subject` for one identity, or `subjectPattern` for several.',
    };
  }
  if (!has('issuer')) {
    return {
      message: `\`${identity}\` requires \`issuer\``,
      hint: 'Add the URL of the identity provider, such as `issuer: https://token.actions.githubusercontent.com`.',
    };
  }
  if (!has('subject') && !has('subjectPattern')) {
    return {
      message: '`issuer` requires `subject`: an issuer alone would trust all its users',
      hint: 'Add `subject`, or `subjectPattern` with a regular expression from `^` to `$`.',
    };
  }
  return undefined;
}

/** Returns the compiled pattern; undefined with an error. */
function checkPattern(
  pattern: string,
  at: Path,
  fields: PolicyFields,
): ((subject: string) => boolean) | undefined {
  const { maxPatternLength } = POLICY_LIMITS;
  if (pattern.length > maxPatternLength) {
    const message = `the pattern has ${pattern.length} characters; the limit is ${maxPatternLength}`;
    fields.report('policy/limit', at, message);
    return undefined;
  }
  if (!pattern.startsWith('^') || !pattern.endsWith('$') || /(^|[^\\])(\\\\)*\\\$$/.test(pattern)) {
    fields.report('policy/pattern', at, 'the pattern is not anchored with `^` and `$`');
    return undefined;
  }
  try {
    const compiled = compilePattern(pattern);
    return (subject) => compiled.matches(subject);
  } catch (error) {
    fields.report('policy/pattern', at, `not a valid regular expression: ${(error as Error).message}`);
    return undefined;
  }
}
