import type { Severity } from '@krmhub/schema';

/** What is refused of a recipe beside what the YAML reader refuses. */
export const RECIPE_CODES = {
  'recipe/document': {
    severity: 'error',
    summary: 'The file does not hold exactly one CatalogRecipe of `krmhub.dev/v1alpha1`.',
    mend: 'Begin the file with `apiVersion: krmhub.dev/v1alpha1` and `kind: CatalogRecipe`; one recipe to a file.',
  },
  'recipe/missing-field': {
    severity: 'error',
    summary: 'A required field is missing.',
    mend: 'Add the field.',
  },
  'recipe/unknown-field': {
    severity: 'error',
    summary: 'A field that no recipe has.',
    mend: 'Correct the spelling, or remove the field.',
  },
  'recipe/wrong-type': {
    severity: 'error',
    summary: 'A value has another type than its field.',
    mend: 'Write a value of the type that the message names; put quotes around text that looks like a number.',
  },
  'recipe/name': {
    severity: 'error',
    summary: 'The name of a catalog or source is no DNS label.',
    mend: 'Use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends.',
  },
  'recipe/duplicate-source': {
    severity: 'error',
    summary: 'Two sources have the same name, so a report could not tell them apart.',
    mend: 'Give every source a name of its own.',
  },
  'recipe/label': {
    severity: 'error',
    summary: 'A label is not one that Kubernetes takes.',
    mend: 'Use a name such as `team` or `example.com/team`, and a value of at most 63 letters, digits, `-`, `_` and `.`.',
  },
  'recipe/release-range': {
    severity: 'error',
    summary: 'The release range is not one that npm’s semver reads.',
    mend: 'Write a range such as `>=1.0.0 <2.0.0`, `1.x || 2.x` or `^1.2.0`; leave it out for every release.',
  },
  'recipe/empty-selector': {
    severity: 'error',
    summary: 'A selector, or a list of selectors, is empty: it matches nothing.',
    mend: 'Name a group, kind, tags, publisher, runtime or license; leave `match` out to take everything.',
  },
  'recipe/selector-value': {
    severity: 'error',
    summary: 'A selector asks for what no function can have.',
    mend: 'Correct the value.',
  },
  'recipe/not-supported': {
    severity: 'error',
    summary: 'The recipe asks for something that this version does not do.',
    mend: 'Remove the field: what it asks for would not be done.',
  },
  'recipe/limit': {
    severity: 'error',
    summary: 'Something in the recipe is larger or longer than it may be.',
    mend: 'Shorten it, or make several catalogs.',
  },
} as const satisfies Record<`recipe/${string}`, { severity: Severity; summary: string; mend: string }>;

export type RecipeCode = keyof typeof RECIPE_CODES;
