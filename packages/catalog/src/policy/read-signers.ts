import { defined } from '@krmhub/schema/defined';
import { GROUP_GLOB } from '../fields/field.js';
import { exactDangers, groupDangers, issuerDangers, patternDangers } from './dangers.js';
import { type PolicyField, readKey, readValidity, reportDangers, VALIDITY_FIELDS } from './fields.js';
import { readSourceRequirements } from './read-source-requirements.js';
import { compilePattern, POLICY_LIMITS, type TrustedSigner } from './signing-policy.js';
import { sourceDangers } from './source-dangers.js';
import { NAMING_FIELDS, SOURCE_FIELDS } from './source-requirements.js';

/** Reads the groups and signers of a SigningPolicy, or of a policy in a recipe. */

export const SIGNER_FIELDS = [
  'key',
  'issuer',
  'subject',
  'subjectPattern',
  ...SOURCE_FIELDS,
  ...VALIDITY_FIELDS,
  'revoked',
] as const;

export function readGroups(field: PolicyField | undefined): string[] | undefined {
  const list = field?.list(POLICY_LIMITS.maxGroups);
  if (list?.length === 0) field?.report('policy/missing-field', 'a policy must have at least one group');
  return list?.flatMap((item) => {
    const glob = item.text();
    if (glob !== undefined && !GROUP_GLOB.test(glob)) {
      item.report('policy/group', `"${glob}" cannot match any group`);
    } else if (glob !== undefined) reportDangers(groupDangers(glob), item);
    return glob ?? [];
  });
}

/** `ofPath` is the hint if the key is a path. */
export function readSigners(field: PolicyField | undefined, ofPath?: string): TrustedSigner[] | undefined {
  const list = field?.list(POLICY_LIMITS.maxSigners);
  if (list?.length === 0) field?.report('policy/missing-field', 'a policy must have at least one signer');
  return list?.flatMap((item) => {
    const signer = item.mapping({ optional: SIGNER_FIELDS });
    return (signer && readSignerFields(signer, ofPath)) ?? [];
  });
}

/** Reads the signer in the fields `SIGNER_FIELDS` of a mapping. Ignores other fields. */
export function readSignerFields(item: PolicyField, ofPath?: string): TrustedSigner | undefined {
  const times = readValidity(item);
  const revoked = item.get('revoked')?.text();
  const rest = { ...times, ...defined({ revoked }) };
  const problem = signerProblem(item);
  if (problem !== undefined) {
    item.report('policy/signer', problem.message, { hint: problem.hint });
    return undefined;
  }
  const written = item.get('key');
  if (written !== undefined) {
    const key = readKey(written, ofPath);
    return key === undefined ? undefined : { key: key.pem, fingerprint: key.fingerprint, ...rest };
  }
  const source = readSourceRequirements(item);
  const issuer = item.get('issuer')?.text();
  const subject = item.get('subject')?.text();
  const subjectPattern = item.get('subjectPattern')?.text();
  if (issuer !== undefined) {
    const insecure = revoked === undefined ? issuerDangers(issuer) : [];
    reportDangers([...exactDangers('issuer', issuer), ...insecure], item.get('issuer')!);
  }
  if (subject !== undefined) reportDangers(exactDangers('subject', subject), item.get('subject')!);
  if (subjectPattern !== undefined) {
    const at = item.get('subjectPattern')!;
    const matches = checkPattern(subjectPattern, at);
    // A revocation can be broad, because it reduces trust.
    const isExempt = matches === undefined || revoked !== undefined;
    reportDangers(isExempt ? [] : patternDangers(subjectPattern, matches), at);
  }
  if (issuer === undefined || source === undefined) return undefined;
  const signer = { issuer, ...defined({ subject, subjectPattern }), ...source, ...rest };
  if (revoked === undefined) reportDangers(sourceDangers(signer), item);
  return signer;
}

/** Returns why fields do not identify one signer: something is missing, or there are two. */
function signerProblem(signer: PolicyField): { message: string; hint: string } | undefined {
  const has = (name: (typeof SIGNER_FIELDS)[number]) => signer.get(name) !== undefined;
  const identity = (['issuer', 'subject', 'subjectPattern', ...SOURCE_FIELDS] as const).find(has);
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
  if (!has('subject') && !has('subjectPattern') && !NAMING_FIELDS.some(has)) {
    return {
      message: '`issuer` requires `subject`: an issuer alone would trust all its users',
      hint: `Add \`subject\`, \`subjectPattern\` with a regular expression from \`^\` to \`$\`, or ${NAMING_FIELDS.map((name) => `\`${name}\``).join(' or ')}.`,
    };
  }
  return undefined;
}

/** Returns the compiled pattern; undefined with an error. */
function checkPattern(pattern: string, field: PolicyField): ((subject: string) => boolean) | undefined {
  const { maxPatternLength } = POLICY_LIMITS;
  if (pattern.length > maxPatternLength) {
    const message = `the pattern has ${pattern.length} characters; the limit is ${maxPatternLength}`;
    field.report('policy/limit', message);
    return undefined;
  }
  if (!pattern.startsWith('^') || !pattern.endsWith('$') || /(^|[^\\])(\\\\)*\\\$$/.test(pattern)) {
    field.report('policy/pattern', 'the pattern is not anchored with `^` and `$`');
    return undefined;
  }
  try {
    const compiled = compilePattern(pattern);
    return (subject) => compiled.matches(subject);
  } catch (error) {
    field.report('policy/pattern', `not a valid regular expression: ${(error as Error).message}`);
    return undefined;
  }
}
