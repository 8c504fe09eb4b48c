import { type Diagnostic, hasErrors, type JsonValue, type Path, type YamlDocument } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { rangeDangers } from './dangers.js';
import { isMapping } from './document-fields.js';
import { type PolicyFields, readName, readPolicyFile, reportDangers } from './fields.js';
import { readGroups, readSigners } from './read-signers.js';
import { readReleaseRange } from './release-range.js';
import { POLICY_API_VERSION, POLICY_KIND, POLICY_LIMITS, type SigningPolicy } from './signing-policy.js';

/**
 * Reads SigningPolicies, one per YAML document, and reports all problems. Returns the policies only without errors. A
 * file without documents is an empty list. Unknown fields are errors.
 */
export function readSigningPolicies(
  bytes: Uint8Array,
  file: string,
): { policies?: SigningPolicy[]; diagnostics: Diagnostic[] } {
  const policies: SigningPolicy[] = [];
  const names = new Set<string>();
  const { maxPatterns } = POLICY_LIMITS;
  const naming = { file, whole: 'the policies have', documents: 'policies', maxPatterns };
  const all = readPolicyFile(bytes, naming, (document, fields) => {
    const policy = readPolicy(document, fields);
    if (policy === undefined) return;
    if (names.has(policy.name)) {
      const message = `another policy is already named "${policy.name}"`;
      fields.report('policy/name', ['metadata', 'name'], message);
    }
    names.add(policy.name);
    policies.push(policy);
  });
  return hasErrors(all) ? { diagnostics: all } : { policies, diagnostics: all };
}

/** Returns undefined only with an error. With errors, the result must not be used. */
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
  const spec = fields.mapping(root.spec, at, {
    required: ['groups', 'signers'],
    optional: ['releases', 'testers'],
  });
  if (spec === undefined || name === undefined) return undefined;
  const groups = readGroups(spec.groups, [...at, 'groups'], fields);
  const releases = readReleases(spec.releases, [...at, 'releases'], fields);
  const signers = readSigners(spec.signers, [...at, 'signers'], fields);
  const testers = readSigners(spec.testers, [...at, 'testers'], fields);
  if (groups === undefined || signers === undefined) return undefined;
  return {
    name,
    groups,
    ...defined({ releases }),
    signers,
    ...defined({ testers }),
  };
}

function readReleases(value: JsonValue | undefined, at: Path, fields: PolicyFields): string | undefined {
  if (value === undefined) return undefined;
  const text = fields.text(value, at);
  if (text === undefined) return undefined;
  const range = readReleaseRange(text);
  if (range.ok) {
    reportDangers(rangeDangers(range.range), at, fields);
    return range.range;
  }
  fields.report(
    'policy/release-range',
    at,
    range.reason,
    range.hint === undefined ? {} : { hint: range.hint },
  );
  return undefined;
}
