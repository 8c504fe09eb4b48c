import type { Severity } from '@krmhub/schema';

/** What is refused of a recipe beside what the YAML reader refuses. */
export const RECIPE_CODES = {
  'recipe/document': {
    severity: 'error',
    summary: 'The file does not contain exactly one CatalogRecipe of `krmhub.dev/v1alpha1`.',
    fix: 'Begin the file with `apiVersion: krmhub.dev/v1alpha1` and `kind: CatalogRecipe`. Write one recipe per file.',
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
    fix: 'Write a value of the type that the message names; put quotes around text that looks like a number.',
  },
  'recipe/name': {
    severity: 'error',
    summary: 'The name of a catalog or source is not a DNS label.',
    fix: 'Use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.',
  },
  'recipe/duplicate-source': {
    severity: 'error',
    summary: 'Two sources have the same name, so a report cannot distinguish them.',
    fix: 'Give each source a unique name.',
  },
  'recipe/label': {
    severity: 'error',
    summary: 'The label is not valid in Kubernetes.',
    fix: 'Use a name such as `team` or `example.com/team`, and a value of at most 63 letters, digits, `-`, `_` and `.`.',
  },
  'recipe/release-range': {
    severity: 'error',
    summary: 'The release range is not a valid npm semver range.',
    fix: 'Write a range such as `>=1.0.0 <2.0.0`, `1.x || 2.x` or `^1.2.0`; leave it out for every release.',
  },
  'recipe/empty-selector': {
    severity: 'error',
    summary: 'A selector, or a list of them, is empty: it matches nothing.',
    fix: 'Name a group, kind, tags, publisher, runtime or license; leave `match` out to accept everything.',
  },
  'recipe/selector-value': {
    severity: 'error',
    summary: 'A selector has a value that no function can have.',
    fix: 'Correct the value.',
  },
  'recipe/ambiguous-source': {
    severity: 'error',
    summary: 'A source has both `functions` and `catalog`.',
    fix: 'Split it into two sources: one with `functions`, for this registry, and one with `catalog`.',
  },
  'recipe/defaults': {
    severity: 'error',
    summary: 'A default is not valid in a definition, or the source is not an upstream catalog.',
    fix: 'Correct the value, or remove it.',
  },
  'recipe/catalog-url': {
    severity: 'error',
    summary: 'The URL of a catalog is not supported, or contains credentials.',
    fix: 'Write a URL such as `https://example.com/catalog.yaml`, without a password.',
  },
  'recipe/format': {
    severity: 'error',
    summary: 'The format of a source is unknown, or a field of the source does not apply to its format.',
    fix: 'Set `format` to `kep`, `kpt-metadata`, `kpt-list`, `krew` or `porch`; leave it out for a catalog file.',
  },
  'recipe/insecure-catalog': {
    severity: 'warning',
    summary:
      'A catalog is fetched without encryption, so an attacker on the network can change it, and no policy requires a signature.',
    fix: 'Write `https://`, or add a `requireSignature` that covers every group of the source.',
  },
  'recipe/duration': {
    severity: 'error',
    summary: 'A duration is not a whole number with a unit, or is too short.',
    fix: 'Write a whole number with `s`, `m`, `h` or `d`, such as `30m`, `72h` or `7d`.',
  },
  'recipe/rewrite': {
    severity: 'error',
    summary:
      'A rule of `rewrite` needs two prefixes of the same type, each with a trailing slash, and a `from` that no other rule has.',
    fix: 'Write both as `host/path/` for images, or both as `https://`, `oci://`, or `git::https://` prefixes for files.',
  },
  'recipe/shadowed-rewrite': {
    severity: 'warning',
    summary: 'A rule of `rewrite` never applies: an earlier rule with a shorter `from` matches first.',
    fix: 'Put the rule with the longer `from` before the other.',
  },
  'recipe/license': {
    severity: 'error',
    summary: 'A license in a policy is not an SPDX license expression, so no function can have it.',
    fix: 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for a custom license.',
  },
  'recipe/selector-license': {
    severity: 'warning',
    summary: 'The license in a selector is not an SPDX license expression, so the selector matches nothing.',
    fix: 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for a custom license.',
  },
  'recipe/limit': {
    severity: 'error',
    summary: 'Something in the recipe exceeds its limit.',
    fix: 'Shorten it, or split it into several catalogs.',
  },
} as const satisfies Record<`recipe/${string}`, { severity: Severity; summary: string; fix: string }>;

export type RecipeCode = keyof typeof RECIPE_CODES;
