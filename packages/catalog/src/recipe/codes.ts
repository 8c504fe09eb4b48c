import type { Severity } from '@krmhub/schema';

/** The codes of recipe errors, in addition to YAML errors. */
export const RECIPE_CODES = {
  'recipe/document': {
    severity: 'error',
    summary: 'The file does not contain exactly one CatalogRecipe of `krmhub.dev/v1alpha1`.',
    fix: 'Begin the file with `apiVersion: krmhub.dev/v1alpha1` and `kind: CatalogRecipe`. Use one file per recipe.',
  },
  'recipe/missing-field': {
    severity: 'error',
    summary: 'A required field is missing.',
    fix: 'Add the field.',
  },
  'recipe/unknown-field': {
    severity: 'error',
    summary: 'The field does not exist in a recipe.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'recipe/wrong-type': {
    severity: 'error',
    summary: 'The value has the wrong type.',
    fix: 'Use a value of the type in the message. Add quotes around text that looks like a number.',
  },
  'recipe/name': {
    severity: 'error',
    summary: 'The name of a catalog or source is not a DNS label.',
    fix: 'Use at most 63 lower-case letters, digits, and dashes, with a letter or digit at both ends.',
  },
  'recipe/duplicate-source': {
    severity: 'error',
    summary: 'Two sources have the same name.',
    fix: 'Use a unique name for each source.',
  },
  'recipe/label': {
    severity: 'error',
    summary: 'The label is not valid in Kubernetes.',
    fix: 'Use a name such as `team` or `example.com/team`, and a value of at most 63 letters, digits, `-`, `_`, and `.`.',
  },
  'recipe/release-range': {
    severity: 'error',
    summary: 'The release range is not a valid npm semver range.',
    fix: 'Use a range such as `>=1.0.0 <2.0.0`, `1.x || 2.x`, or `^1.2.0`. Remove it to accept every release.',
  },
  'recipe/empty-selector': {
    severity: 'error',
    summary: 'A selector or a list of selectors is empty, so it matches no function.',
    fix: 'Set a group, kind, tags, publisher, runtime, or license. Remove `match` to accept all functions.',
  },
  'recipe/selector-value': {
    severity: 'error',
    summary: 'A selector has a value that is not valid in a function.',
    fix: 'Correct the value.',
  },
  'recipe/ambiguous-source': {
    severity: 'error',
    summary: 'A source has both `functions` and `catalog`.',
    fix: 'Split it into two sources: one with `functions`, for this registry, and one with `catalog`.',
  },
  'recipe/defaults': {
    severity: 'error',
    summary: 'A default is not valid in a definition, or its source is not an upstream catalog.',
    fix: 'Correct the value, or remove it.',
  },
  'recipe/catalog-url': {
    severity: 'error',
    summary: 'The URL of a catalog is not supported, or contains credentials.',
    fix: 'Use a URL such as `https://example.com/catalog.yaml`, without a password.',
  },
  'recipe/format': {
    severity: 'error',
    summary: 'The format of a source is unknown, or a field of the source does not apply to its format.',
    fix: 'Set `format` to `kep`, `kpt-metadata`, `kpt-list`, `krew`, or `porch`. Remove it for a catalog file.',
  },
  'recipe/insecure-catalog': {
    severity: 'warning',
    summary:
      'A catalog is fetched over http without a required signature. An attacker on the network can change it.',
    fix: 'Use `https://`, or add a `requireSignature` that covers every group of the source.',
  },
  'recipe/duration': {
    severity: 'error',
    summary: 'A duration is not an integer with a unit, or is too short.',
    fix: 'Use an integer with `s`, `m`, `h`, or `d`, such as `30m`, `72h`, or `7d`.',
  },
  'recipe/rewrite': {
    severity: 'error',
    summary:
      'A rule of `rewrite` requires a unique `from`, and two prefixes of the same type with trailing slashes.',
    fix: 'For images, use `HOST/PATH/` in both. For files, use `https://`, `oci://`, or `git::https://` in both.',
  },
  'recipe/shadowed-rewrite': {
    severity: 'warning',
    summary: 'A rule of `rewrite` never applies: an earlier rule with a shorter `from` matches first.',
    fix: 'Move the rule with the longer `from` before the other rule.',
  },
  'recipe/license': {
    severity: 'error',
    summary: 'A license in a policy is not an SPDX license expression, so it matches no function.',
    fix: 'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  },
  'recipe/selector-license': {
    severity: 'warning',
    summary:
      'The license in a selector is not an SPDX license expression, so the selector matches no function.',
    fix: 'Use an identifier from spdx.org/licenses, or `LicenseRef-…` for your own license.',
  },
  'recipe/limit': {
    severity: 'error',
    summary: 'A text or a list in the recipe exceeds its limit.',
    fix: 'Shorten it, or split it into several catalogs.',
  },
} as const satisfies Record<`recipe/${string}`, { severity: Severity; summary: string; fix: string }>;

export type RecipeCode = keyof typeof RECIPE_CODES;
