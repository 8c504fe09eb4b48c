import { defined } from '@krmhub/schema/defined';
import { isObject } from '@krmhub/schema/json/access';
import { Field, type FieldReader } from '../fields/field.js';
import type { PolicyCode } from '../policy/codes.js';
import { countPatterns, type PolicyField } from '../policy/fields.js';
import { readGroups, readSignerFields, readSigners, SIGNER_FIELDS } from '../policy/read-signers.js';
import { POLICY_LIMITS, type SigningPolicy, type TrustedSigner } from '../policy/signing-policy.js';
import type { RecipeField } from './codes.js';
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
  field: RecipeField | undefined,
  signing: FieldReader<PolicyCode>,
): RecipePolicy | undefined {
  const policy = field?.mapping({ optional: ['requireSignature', ...SWITCHES, 'licenses', 'deny'] });
  if (policy === undefined) return undefined;
  const read: RecipePolicy = {};
  const signed = policy.get('requireSignature');
  if (isObject(signed?.value)) {
    if (readRegistryPolicies(signed)) read.requireRegistryPolicies = true;
  } else Object.assign(read, defined({ requireSignature: readRequiredSignatures(signed, signing) }));
  for (const name of SWITCHES) {
    const on = policy.get(name)?.boolean();
    if (on !== undefined) read[name] = on;
  }
  const licenses = readLicenses(policy.get('licenses'));
  const deny = readDenyRules(policy.get('deny'));
  return { ...read, ...defined({ licenses, deny }) };
}

/** Reads `{policies: true}`, which allows no other fields, so that no one expects a key next to it to count. */
function readRegistryPolicies(field: RecipeField | undefined): boolean {
  const required = field?.mapping({ required: ['policies'] })?.get('policies');
  const policies = required?.boolean();
  if (policies === false) {
    required?.report('recipe/missing-field', '`policies: false` requires no signature', {
      hint: 'Use `policies: true`, or remove `requireSignature`.',
    });
  }
  return policies === true;
}

function readRequiredSignatures(
  field: RecipeField | undefined,
  signing: FieldReader<PolicyCode>,
): SigningPolicy[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxRules);
  if (field === undefined || list === undefined) return undefined;
  if (list.length === 0) {
    field.report('recipe/missing-field', 'the list of required signatures is empty', {
      hint: 'Add signers, or remove `requireSignature`.',
    });
  }
  const patterns = countPatterns(list.map(({ value }) => value));
  if (patterns > POLICY_LIMITS.maxPatterns) {
    const message = `there are ${patterns} patterns; the limit is ${POLICY_LIMITS.maxPatterns}`;
    signing.report('policy/limit', field.at, message);
    return undefined;
  }
  return list.flatMap(({ value, at }, index) => {
    // Reports identify the policy by its position in the recipe, because it has no name.
    const name = `requireSignature[${index}]`;
    const read = readItem(new Field(value, at, signing));
    return read === undefined ? [] : { name, ...read };
  });
}

function readItem(field: PolicyField): Pick<SigningPolicy, 'groups' | 'signers'> | undefined {
  const item = field.mapping({ required: ['groups'], optional: ['signers', ...SIGNER_FIELDS] });
  if (item === undefined) return undefined;
  const groups = readGroups(item.get('groups'));
  const signers = readItemSigners(item);
  return groups === undefined || signers === undefined ? undefined : { groups, signers };
}

function readItemSigners(item: PolicyField): TrustedSigner[] | undefined {
  const signers = item.get('signers');
  if (signers === undefined) {
    const signer = readSignerFields(item, KEY_FILE_HINT);
    return signer && [signer];
  }
  const beside = SIGNER_FIELDS.find((name) => item.get(name) !== undefined);
  if (beside !== undefined) {
    item.get(beside)?.report('policy/signer', `\`${beside}\` cannot be combined with \`signers\``, {
      hint: 'Move it to an item of `signers`.',
      target: 'key',
    });
  }
  return readSigners(signers, KEY_FILE_HINT);
}

function readLicenses(field: RecipeField | undefined): string[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxRules);
  if (list?.length === 0) {
    field?.report('recipe/missing-field', 'the list of licenses is empty, so it accepts no function', {
      hint: 'Add a license, or remove `licenses` to allow every license.',
    });
  }
  return list?.flatMap((item) => {
    const text = item.text();
    return text === undefined ? [] : readLicense(text, item, 'recipe/license');
  });
}
