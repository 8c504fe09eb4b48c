import { type CodeEntry, error, warning } from '@krmhub/yaml/code-entry';
import type { Field } from '../fields/field.js';

/** The codes of recipe errors, in addition to YAML errors. */
export const RECIPE_CODES = {
  'recipe/document': error(
    'The file does not contain exactly one CatalogRecipe of `krmhub.dev/v1alpha1`.',
    'Begin the file with `apiVersion: krmhub.dev/v1alpha1` and `kind: CatalogRecipe`. Use one file per recipe.',
  ),
  'recipe/missing-field': error('A required field is missing.', 'Add the field.'),
  'recipe/unknown-field': error(
    'The field does not exist in a recipe.',
    'Correct the spelling, or remove the field.',
  ),
  'recipe/wrong-type': error(
    'The value has the wrong type.',
    'Use a value of the type in the message. Add quotes around text that looks like a number.',
  ),
  'recipe/name': error(
    'The name of a catalog or source is not a DNS label.',
    'Use at most 63 lower-case letters, digits, and dashes, with a letter or digit at both ends.',
  ),
  'recipe/duplicate-source': error('Two sources have the same name.', 'Use a unique name for each source.'),
  'recipe/label': error(
    'The label is not valid in Kubernetes.',
    'Use a name such as `team` or `example.com/team`, and a value of at most 63 letters, digits, `-`, `_`, and `.`.',
  ),
  'recipe/release-range': error(
    'The release range is not a valid npm semver range.',
    'Use a range such as `>=1.0.0 <2.0.0`, `1.x || 2.x`, or `^1.2.0`. Remove it to accept every release.',
  ),
  'recipe/empty-selector': error(
    'A selector or a list of selectors is empty, so it matches no function.',
    'Set a group, kind, tags, publisher, runtime, or license. Remove `match` to accept all functions.',
  ),
  'recipe/selector-value': error(
    'A selector has a value that is not valid in a function.',
    'Correct the value.',
  ),
  'recipe/ambiguous-source': error(
    'A source has both `functions` and `catalog`.',
    'Split it into two sources: one with `functions`, for this registry, and one with `catalog`.',
  ),
  'recipe/defaults': error(
    'A default is not valid in a definition, or its source is not an upstream catalog.',
    'Correct the value, or remove it.',
  ),
  'recipe/catalog-url': error(
    'The URL of a catalog is not supported, or contains credentials.',
    'Use a URL such as `https://example.com/catalog.yaml`, without a password.',
  ),
  'recipe/format': error(
    'The format of a source is unknown, or a field of the source does not apply to its format.',
    'Set `format` to `kep`, `kpt-metadata`, `kpt-list`, `krew`, or `porch`. Remove it for a catalog file.',
  ),
  'recipe/insecure-catalog': warning(
    'A catalog is fetched over http without a required signature. An attacker on the network can change it.',
    'Use `https://`, or add a `requireSignature` that covers every group of the source.',
  ),
  'recipe/duration': error(
    'A duration is not an integer with a unit, or is too short.',
    'Use an integer with `s`, `m`, `h`, or `d`, such as `30m`, `72h`, or `7d`.',
  ),
  'recipe/rewrite': error(
    'A rule of `rewrite` requires a unique `from`, and two prefixes of the same type with trailing slashes.',
    'For images, use `HOST/PATH/` in both. For files, use `https://`, `oci://`, or `git::https://` in both.',
  ),
  'recipe/shadowed-rewrite': warning(
    'A rule of `rewrite` never applies: an earlier rule with a shorter `from` matches first.',
    'Move the rule with the longer `from` before the other rule.',
  ),
  'recipe/license': error(
    'A license in a policy is not an SPDX license expression, so it matches no function.',
    'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  ),
  'recipe/selector-license': warning(
    'The license in a selector is not an SPDX license expression, so the selector matches no function.',
    'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  ),
  'recipe/limit': error(
    'A text or a list in the recipe exceeds its limit.',
    'Shorten it, or split it into several catalogs.',
  ),
} as const satisfies Record<`recipe/${string}`, CodeEntry>;

export type RecipeCode = keyof typeof RECIPE_CODES;

/** A field of a recipe. */
export type RecipeField = Field<RecipeCode>;
