import type { JsonObject, JsonValue, Path } from '@krmhub/schema';
import { isMapping } from '../policy/document-fields.js';
import { countPatterns, type PolicyFields } from '../policy/fields.js';
import { readGroups, readSignerFields, readSigners, SIGNER_FIELDS } from '../policy/read-signers.js';
import { POLICY_LIMITS, type SigningPolicy, type TrustedSigner } from '../policy/signing-policy.js';
import type { RecipeFields } from './fields.js';
import { readDenyRules, readLicense } from './read-selector.js';
import { RECIPE_LIMITS, type RecipePolicy } from './recipe.js';

const SWITCHES = ['requireDigest', 'allowNetwork', 'allowStorage'] as const;
/** Only the sender of a recipe has the files next to it. */
const KEY_FILE_HINT =
  'Paste the lines of the key file below `key: |`, or apply the recipe with `krmhub catalog apply`, which reads key files.';

/**
 * Reads the policy of a recipe. With errors, the result must not be used. `signing` reads the signature rules of the
 * same document.
 */
export function readRecipePolicy(
  value: JsonValue | undefined,
  fields: RecipeFields,
  signing: PolicyFields,
): RecipePolicy | undefined {
  if (value === undefined) return undefined;
  const at: Path = ['spec', 'policy'];
  const policy = fields.mapping(value, at, {
    optional: ['requireSignature', ...SWITCHES, 'licenses', 'deny'],
  });
  if (policy === undefined) return undefined;
  const read: RecipePolicy = {};
  const signed = policy.requireSignature;
  const signedAt: Path = [...at, 'requireSignature'];
  if (isMapping(signed)) {
    if (readRegistryPolicies(signed, signedAt, fields)) read.requireRegistryPolicies = true;
  } else {
    const required = readRequiredSignatures(signed, signedAt, fields, signing);
    if (required !== undefined) read.requireSignature = required;
  }
  for (const name of SWITCHES) {
    const on = policy[name] === undefined ? undefined : fields.boolean(policy[name], [...at, name]);
    if (on !== undefined) read[name] = on;
  }
  const licenses = readLicenses(policy.licenses, [...at, 'licenses'], fields);
  if (licenses !== undefined) read.licenses = licenses;
  const deny = readDenyRules(policy.deny, [...at, 'deny'], fields);
  if (deny !== undefined) read.deny = deny;
  return read;
}

/** Reads `{policies: true}`, which allows no other fields, so that no one expects a key next to it to count. */
function readRegistryPolicies(value: JsonObject, at: Path, fields: RecipeFields): boolean {
  const required = fields.mapping(value, at, { required: ['policies'] });
  if (required?.policies === undefined) return false;
  const policies = fields.boolean(required.policies, [...at, 'policies']);
  if (policies === false) {
    fields.report('recipe/missing-field', [...at, 'policies'], '`policies: false` requires no signature', {
      hint: 'Use `policies: true`, or remove `requireSignature`.',
    });
  }
  return policies === true;
}

function readRequiredSignatures(
  value: JsonValue | undefined,
  at: Path,
  fields: RecipeFields,
  signing: PolicyFields,
): SigningPolicy[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxRules);
  if (list === undefined) return undefined;
  if (list.length === 0) {
    fields.report('recipe/missing-field', at, 'the list of required signatures is empty', {
      hint: 'Add signers, or remove `requireSignature`.',
    });
  }
  const patterns = countPatterns(list);
  if (patterns > POLICY_LIMITS.maxPatterns) {
    const message = `there are ${patterns} patterns; the limit is ${POLICY_LIMITS.maxPatterns}`;
    signing.report('policy/limit', at, message);
    return undefined;
  }
  return list.flatMap((item, index) => {
    // Reports identify the policy by its position in the recipe, because it has no name.
    const name = `requireSignature[${index}]`;
    const read = readItem(item, [...at, index], signing);
    return read === undefined ? [] : { name, ...read };
  });
}

function readItem(
  value: JsonValue,
  at: Path,
  signing: PolicyFields,
): Pick<SigningPolicy, 'groups' | 'signers'> | undefined {
  const item = signing.mapping(value, at, { required: ['groups'], optional: ['signers', ...SIGNER_FIELDS] });
  if (item === undefined) return undefined;
  const groups = readGroups(item.groups, [...at, 'groups'], signing);
  const signers = readItemSigners(item, at, signing);
  return groups === undefined || signers === undefined ? undefined : { groups, signers };
}

function readItemSigners(item: JsonObject, at: Path, signing: PolicyFields): TrustedSigner[] | undefined {
  if (item.signers === undefined) {
    const signer = readSignerFields(item, at, signing, KEY_FILE_HINT);
    return signer === undefined ? undefined : [signer];
  }
  const beside = SIGNER_FIELDS.find((name) => item[name] !== undefined);
  if (beside !== undefined) {
    signing.report('policy/signer', [...at, beside], `\`${beside}\` cannot be combined with \`signers\``, {
      hint: 'Move it to an item of `signers`.',
      target: 'key',
    });
  }
  return readSigners(item.signers, [...at, 'signers'], signing, KEY_FILE_HINT);
}

function readLicenses(value: JsonValue | undefined, at: Path, fields: RecipeFields): string[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxRules);
  if (list?.length === 0) {
    fields.report('recipe/missing-field', at, 'the list of licenses is empty, so it accepts no function', {
      hint: 'Add a license, or remove `licenses` to allow every license.',
    });
  }
  return list?.flatMap((item, index) => {
    const path = [...at, index];
    const text = fields.text(item, path);
    return text === undefined ? [] : readLicense(text, path, fields, 'recipe/license');
  });
}
