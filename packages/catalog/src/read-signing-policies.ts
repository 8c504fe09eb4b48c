import {
  compareDiagnostics,
  type Diagnostic,
  hasErrors,
  type JsonValue,
  type Path,
  type YamlDocument,
} from '@krmhub/schema';
import { isMapping } from './document-fields.js';
import {
  ofFile,
  type PolicyFields,
  readKey,
  readName,
  readPolicyFile,
  readTimes,
  TIMES,
} from './policy-fields.js';
import { readReleaseRange } from './release-range.js';
import {
  compiled,
  POLICY_API_VERSION,
  POLICY_KIND,
  POLICY_LIMITS,
  type SigningPolicy,
  type TrustedSigner,
} from './signing-policy.js';

/** Characters that a glob over groups can have (Kubernetes, "DNS Subdomain Names", and `*`). */
const GROUP_GLOB = /^[a-z0-9*]([-a-z0-9.*]{0,251}[a-z0-9*])?$/;

/**
 * Reads SigningPolicies, one to a YAML document, and finds everything that is wrong with them. They are there where
 * nothing is; a file without any document is an empty list. Nothing of a policy is ignored.
 */
export function readSigningPolicies(
  bytes: Uint8Array,
  file: string,
): { policies?: SigningPolicy[]; diagnostics: Diagnostic[] } {
  const policies: SigningPolicy[] = [];
  const names = new Set<string>();
  const naming = { file, whole: 'the policies have', documents: 'policies' };
  const all = readPolicyFile(bytes, naming, (document, fields) => {
    const policy = readPolicy(document, fields);
    if (policy === undefined) return;
    if (names.has(policy.name)) {
      const message = `another policy is named "${policy.name}" too`;
      fields.report('policy/name', ['metadata', 'name'], message);
    }
    names.add(policy.name);
    policies.push(policy);
  });
  const patterns = policies.flatMap(({ signers }) => signers.filter((signer) => 'subjectPattern' in signer));
  if (patterns.length > POLICY_LIMITS.maxPatterns) {
    const message = `there are ${patterns.length} patterns, and at most ${POLICY_LIMITS.maxPatterns} are taken`;
    all.push(ofFile('policy/limit', file, message));
    all.sort(compareDiagnostics);
  }
  return hasErrors(all) ? { diagnostics: all } : { policies, diagnostics: all };
}

/** Undefined only where an error is reported; with errors, what is given is not to be used. */
export function readPolicy({ value }: YamlDocument, fields: PolicyFields): SigningPolicy | undefined {
  if (isMapping(value) && typeof value.kind === 'string' && value.kind !== POLICY_KIND) {
    fields.report('policy/document', ['kind'], `\`kind\` is not \`${POLICY_KIND}\``);
    return undefined;
  }
  const root = fields.mapping(value, [], { required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  if (root.apiVersion !== undefined && root.apiVersion !== POLICY_API_VERSION) {
    fields.report('policy/document', ['apiVersion'], `\`apiVersion\` is not \`${POLICY_API_VERSION}\``);
  }
  const name = readName(root.metadata, fields);
  if (root.spec === undefined) return undefined;
  const at: Path = ['spec'];
  const spec = fields.mapping(root.spec, at, { required: ['groups', 'signers'], optional: ['releases'] });
  if (spec === undefined || name === undefined) return undefined;
  const groups = readGroups(spec.groups, [...at, 'groups'], fields);
  const releases = readReleases(spec.releases, [...at, 'releases'], fields);
  const signers = readSigners(spec.signers, [...at, 'signers'], fields);
  if (groups === undefined || signers === undefined) return undefined;
  return { name, groups, ...(releases === undefined ? {} : { releases }), signers };
}

function readGroups(value: JsonValue | undefined, at: Path, fields: PolicyFields): string[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, POLICY_LIMITS.maxGroups);
  if (list?.length === 0) fields.report('policy/missing-field', at, 'a policy has at least one group');
  return list?.flatMap((item, index) => {
    const glob = fields.text(item, [...at, index]);
    if (glob !== undefined && !GROUP_GLOB.test(glob)) {
      fields.report('policy/group', [...at, index], `"${glob}" fits no group`);
    }
    return glob ?? [];
  });
}

function readReleases(value: JsonValue | undefined, at: Path, fields: PolicyFields): string | undefined {
  if (value === undefined) return undefined;
  const text = fields.text(value, at);
  if (text === undefined) return undefined;
  const range = readReleaseRange(text);
  if (range.ok) return range.range;
  fields.report(
    'policy/release-range',
    at,
    range.reason,
    range.hint === undefined ? {} : { hint: range.hint },
  );
  return undefined;
}

function readSigners(
  value: JsonValue | undefined,
  at: Path,
  fields: PolicyFields,
): TrustedSigner[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, POLICY_LIMITS.maxSigners);
  if (list?.length === 0) fields.report('policy/missing-field', at, 'a policy has at least one signer');
  return list?.flatMap((item, index) => readSigner(item, [...at, index], fields) ?? []);
}

function readSigner(value: JsonValue, at: Path, fields: PolicyFields): TrustedSigner | undefined {
  const signer = fields.mapping(value, at, {
    optional: ['key', 'issuer', 'subject', 'subjectPattern', ...TIMES, 'revoked'],
  });
  if (signer === undefined) return undefined;
  const text = (name: string) =>
    signer[name] === undefined ? undefined : fields.text(signer[name], [...at, name]);
  const times = readTimes(text, at, fields);
  const revoked = text('revoked');
  const rest = { ...times, ...(revoked === undefined ? {} : { revoked }) };
  const isKey = signer.key !== undefined;
  const subjects = [signer.subject, signer.subjectPattern].filter((one) => one !== undefined);
  if (
    isKey
      ? signer.issuer !== undefined || subjects.length > 0
      : signer.issuer === undefined || subjects.length !== 1
  ) {
    fields.report('policy/signer', at, 'a signer is a key, or an issuer with one subject or pattern');
    return undefined;
  }
  if (isKey) {
    const key = readKey(text('key'), [...at, 'key'], fields);
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
    const message = `the pattern has ${pattern.length} characters, and at most ${maxPatternLength} are taken`;
    fields.report('policy/limit', at, message);
    return;
  }
  if (!pattern.startsWith('^') || !pattern.endsWith('$') || /(^|[^\\])(\\\\)*\\\$$/.test(pattern)) {
    fields.report('policy/pattern', at, 'the pattern is not anchored with `^` and `$`');
    return;
  }
  try {
    compiled(pattern);
  } catch (error) {
    fields.report('policy/pattern', at, `no regular expression: ${(error as Error).message}`);
  }
}
