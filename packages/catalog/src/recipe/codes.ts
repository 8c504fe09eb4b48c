import type { Severity } from '@krmhub/schema';

/** What is refused of a recipe beside what the YAML reader refuses. */
export const RECIPE_CODES = {
  'recipe/document': {
    severity: 'error',
    summary: 'The file does not hold exactly one CatalogRecipe of `krmhub.dev/v1alpha1`.',
    fix: 'Begin the file with `apiVersion: krmhub.dev/v1alpha1` and `kind: CatalogRecipe`; one recipe to a file.',
  },
  'recipe/missing-field': {
    severity: 'error',
    summary: 'A required field is missing.',
    fix: 'Add the field.',
  },
  'recipe/unknown-field': {
    severity: 'error',
    summary: 'A field that no recipe has.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'recipe/wrong-type': {
    severity: 'error',
    summary: 'A value has another type than its field.',
    fix: 'Write a value of the type that the message names; put quotes around text that looks like a number.',
  },
  'recipe/name': {
    severity: 'error',
    summary: 'The name of a catalog or source is no DNS label.',
    fix: 'Use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.',
  },
  'recipe/duplicate-source': {
    severity: 'error',
    summary: 'Two sources have the same name, so a report could not tell them apart.',
    fix: 'Give every source a name of its own.',
  },
  'recipe/label': {
    severity: 'error',
    summary: 'A label is not one that Kubernetes takes.',
    fix: 'Use a name such as `team` or `example.com/team`, and a value of at most 63 letters, digits, `-`, `_` and `.`.',
  },
  'recipe/release-range': {
    severity: 'error',
    summary: 'The release range is not one that npm’s semver reads.',
    fix: 'Write a range such as `>=1.0.0 <2.0.0`, `1.x || 2.x` or `^1.2.0`; leave it out for every release.',
  },
  'recipe/empty-selector': {
    severity: 'error',
    summary: 'A selector, or a list of them, is empty: it matches nothing.',
    fix: 'Name a group, kind, tags, publisher, runtime or license; leave `match` out to take everything.',
  },
  'recipe/selector-value': {
    severity: 'error',
    summary: 'A selector asks for what no function can have.',
    fix: 'Correct the value.',
  },
  'recipe/ambiguous-source': {
    severity: 'error',
    summary: 'A source has both `functions` and `catalog`.',
    fix: 'Make two sources of it: one with `functions`, for this registry, and one with `catalog`.',
  },
  'recipe/catalog-url': {
    severity: 'error',
    summary: 'The address of a catalog is not one that a catalog is fetched from, or holds credentials.',
    fix: 'Write an address such as `https://example.com/catalog.yaml`, without a password.',
  },
  'recipe/insecure-catalog': {
    severity: 'warning',
    summary:
      'A catalog is fetched without encryption, so everybody on the way can change it, and no policy wants it signed.',
    fix: 'Write `https://`, or add a `requireSignature` that covers every group that the source gives.',
  },
  'recipe/duration': {
    severity: 'error',
    summary: 'A duration is not a whole number with a unit, or is too short.',
    fix: 'Write a whole number with `s`, `m`, `h` or `d`, such as `30m`, `72h` or `7d`.',
  },
  'recipe/rewrite': {
    severity: 'error',
    summary:
      'A rule of `rewrite` is not made of two prefixes of one shape, each with a slash at its end, or has the `from` of another.',
    fix: 'Write both as `host/path/` for images, or both as `https://host/path/` for files.',
  },
  'recipe/shadowed-rewrite': {
    severity: 'warning',
    summary:
      'A rule of `rewrite` is never reached: what it is for begins as an earlier one says, which comes first.',
    fix: 'Put the rule with the longer `from` before the other.',
  },
  'recipe/license': {
    severity: 'error',
    summary: 'A licence in a policy is no SPDX expression, so no function can have it.',
    fix: 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for one of your own.',
  },
  'recipe/selector-license': {
    severity: 'warning',
    summary: 'A selector asks for a licence that is no SPDX expression, so it matches nothing.',
    fix: 'Use an identifier of spdx.org/licenses, or `LicenseRef-…` for one of your own.',
  },
  'recipe/limit': {
    severity: 'error',
    summary: 'Something in the recipe is larger or longer than it may be.',
    fix: 'Shorten it, or make several catalogs.',
  },
} as const satisfies Record<`recipe/${string}`, { severity: Severity; summary: string; fix: string }>;

export type RecipeCode = keyof typeof RECIPE_CODES;
