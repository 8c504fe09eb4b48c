import { type Diagnostic, hasErrors } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import type { KnownFields } from '../fields/field.js';
import { rangeDangers } from './dangers.js';
import { type PolicyField, readName, readPolicyFile, reportDangers } from './fields.js';
import { readAttestations } from './read-attestations.js';
import { readGroups, readSigners } from './read-signers.js';
import { readReleaseRange } from './release-range.js';
import {
  POLICY_API_VERSION,
  POLICY_KIND,
  POLICY_LIMITS,
  type SignerThreshold,
  type SigningPolicy,
} from './signing-policy.js';

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
  const all = readPolicyFile(bytes, naming, (root) => {
    const policy = readPolicy(root);
    if (policy === undefined) return;
    if (names.has(policy.name)) {
      const name = root.get('metadata')?.get('name');
      name?.report('policy/name', `another policy is already named "${policy.name}"`);
    }
    names.add(policy.name);
    policies.push(policy);
  });
  return hasErrors(all) ? { diagnostics: all } : { policies, diagnostics: all };
}

/** Returns the name and the spec of a document; undefined only with an error. */
export function readHead(
  document: PolicyField,
  known: KnownFields,
): { name: string | undefined; spec: PolicyField } | undefined {
  const root = document.mapping({ required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  const version = root?.get('apiVersion');
  if (version !== undefined && version.value !== POLICY_API_VERSION) {
    version.report('policy/document', `\`apiVersion\` is not \`${POLICY_API_VERSION}\``);
  }
  const name = root && readName(root);
  const spec = root?.get('spec')?.mapping(known);
  return spec && { name, spec };
}

/** Returns undefined only with an error. With errors, the result must not be used. */
export function readPolicy(document: PolicyField): SigningPolicy | undefined {
  const kind = document.get('kind');
  if (typeof kind?.value === 'string' && kind.value !== POLICY_KIND) {
    kind.report('policy/document', `\`kind\` is not \`${POLICY_KIND}\``);
    return undefined;
  }
  const head = readHead(document, { required: ['groups', 'signers'], optional: POLICY_FIELDS });
  if (head?.name === undefined) return undefined;
  const { name, spec } = head;
  const groups = readGroups(spec.get('groups'));
  const releases = readReleases(spec.get('releases'));
  const signers = readSigners(spec.get('signers'));
  const testers = readSigners(spec.get('testers'));
  const threshold = readThreshold(spec);
  const attestations = readAttestations(spec.get('attestations'));
  if (groups === undefined || signers === undefined) return undefined;
  return {
    name,
    groups,
    ...defined({ releases }),
    signers,
    ...threshold,
    ...defined({ attestations, testers }),
  };
}

const POLICY_FIELDS = ['releases', 'testers', 'atLeast', 'requireAll', 'attestations'];

/** Reads how many of the signers must sign. */
function readThreshold(spec: PolicyField): SignerThreshold {
  const [all, least] = [spec.get('requireAll'), spec.get('atLeast')];
  const requireAll = all?.boolean() === true;
  if (least === undefined) return requireAll ? { requireAll } : {};
  if (requireAll) least.report('policy/threshold', '`atLeast` cannot be combined with `requireAll`');
  const { value } = least;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) {
    const hint = 'Use a number of signers, for example `atLeast: 2`.';
    least.report('policy/wrong-type', '`atLeast` is not a number from 1', { hint });
    return {};
  }
  const listed = spec.get('signers')?.value;
  const valid = Array.isArray(listed)
    ? listed.filter((signer) => !isObject(signer) || signer.revoked === undefined).length
    : value;
  if (value > valid) {
    least.report(
      'policy/threshold',
      `\`atLeast\` is ${value}, but the policy has ${valid} signers that are not revoked`,
    );
  }
  return value === 1 ? {} : { atLeast: value };
}

function readReleases(field: PolicyField | undefined): string | undefined {
  const text = field?.text();
  if (field === undefined || text === undefined) return undefined;
  const range = readReleaseRange(text);
  if (range.ok) {
    reportDangers(rangeDangers(range.range), field);
    return range.range;
  }
  field.report('policy/release-range', range.reason, { hint: range.hint });
  return undefined;
}
