import type { Path } from '@krmhub/schema';

/**
 * The effect of a change on existing functionConfigs. `breaking`: files are rejected, or their meaning changes.
 * `review`: files are accepted, but their meaning or the permissions of the function can differ.
 */
export type Effect = 'breaking' | 'review' | 'compatible';

/** All kinds of changes. docs/compatibility.md is generated from this table. */
export const COMPATIBILITY_RULES = {
  'function-renamed': { effect: 'breaking', summary: 'The group or the kind changed.' },
  'version-removed': { effect: 'breaking', summary: 'An API version is removed.' },
  'alpha-version-removed': { effect: 'review', summary: 'An alpha API version is removed.' },
  'version-added': { effect: 'compatible', summary: 'An API version is added.' },

  'property-removed': { effect: 'breaking', summary: 'A field is removed.' },
  'property-added': {
    effect: 'compatible',
    summary: 'An optional field is added. Its own fields may be required.',
  },
  'property-added-to-open': {
    effect: 'breaking',
    summary:
      'A field is declared that was undeclared but accepted: existing files may use it with other content.',
  },
  'property-added-with-default': {
    effect: 'review',
    summary: 'An optional field with a default is added: it applies to files that omit the field.',
  },
  'required-property-added': {
    effect: 'breaking',
    summary: 'A required field is added, with or without a default: some validators do not apply defaults.',
  },
  'property-required': { effect: 'breaking', summary: 'An optional field becomes required.' },
  'property-optional': { effect: 'compatible', summary: 'A required field becomes optional.' },

  'type-changed': { effect: 'breaking', summary: 'The type changed.' },
  'integer-to-number': { effect: 'compatible', summary: 'The type changed from integer to number.' },
  'int-or-string-allowed': {
    effect: 'compatible',
    summary: 'The type was integer or string. Now both are accepted.',
  },
  'any-type-allowed': {
    effect: 'review',
    summary: 'The type is removed, and any value is accepted (`x-kubernetes-preserve-unknown-fields`).',
  },

  'enum-narrowed': { effect: 'breaking', summary: 'An enum is added, or one of its values is removed.' },
  'enum-widened': { effect: 'compatible', summary: 'A value is added to an enum, or the enum is removed.' },
  'pattern-changed': { effect: 'breaking', summary: 'A pattern is added or changed.' },
  'pattern-dropped': { effect: 'compatible', summary: 'A pattern is removed.' },
  'bound-tightened': {
    effect: 'breaking',
    summary: 'A bound on numbers, lengths, or counts is added or tightened, or `multipleOf` is tightened.',
  },
  'bound-loosened': {
    effect: 'compatible',
    summary: 'A bound is loosened or removed, or a minimum of 0 items, characters, or fields is added.',
  },
  'format-added': { effect: 'breaking', summary: 'A format that Kubernetes knows is added.' },
  'unknown-format-added': {
    effect: 'compatible',
    summary: 'A format is added that Kubernetes does not know and ignores.',
  },
  'nullable-removed': { effect: 'breaking', summary: 'Null is no longer allowed.' },
  'nullable-added': { effect: 'compatible', summary: 'Null is now allowed.' },
  'default-added': { effect: 'review', summary: 'A default is added to an existing field.' },
  'default-changed': { effect: 'breaking', summary: 'A default is changed or removed.' },

  closed: {
    effect: 'breaking',
    summary:
      'An object or map accepted any field, and now accepts only declared fields or values of one schema.',
  },
  opened: {
    effect: 'compatible',
    summary: 'An object now accepts undeclared fields, or a map accepts any value.',
  },
  'preserve-unknown-removed': {
    effect: 'breaking',
    summary: '`x-kubernetes-preserve-unknown-fields` is removed.',
  },
  'list-type-changed': {
    effect: 'breaking',
    summary: 'A list becomes a set or a map, or its map keys change.',
  },
  'list-made-atomic': { effect: 'review', summary: 'A set or map list becomes atomic.' },
  'map-type-changed': { effect: 'review', summary: '`x-kubernetes-map-type` changed.' },
  'embedded-resource-added': {
    effect: 'breaking',
    summary: 'An object must be a complete resource (`x-kubernetes-embedded-resource`).',
  },
  'cel-rule-changed': { effect: 'breaking', summary: 'A CEL rule is added or changed.' },
  'restriction-added': {
    effect: 'breaking',
    summary: 'A branch of allOf, a `not`, an anyOf, or a oneOf is added.',
  },
  'restriction-dropped': {
    effect: 'compatible',
    summary: 'A branch of allOf, a `not`, a CEL rule, an anyOf, or a oneOf is removed.',
  },
  'any-of-branch-added': { effect: 'compatible', summary: 'A branch of anyOf is added.' },
  'one-of-branch-added': {
    effect: 'breaking',
    summary: 'A branch of oneOf is added: a value that matched one branch can now match two.',
  },
  'branch-removed': { effect: 'breaking', summary: 'A branch of anyOf or oneOf is removed or changed.' },
  'schema-declared': {
    effect: 'review',
    summary: 'The schema restricts files for the first time. It declared no fields before.',
  },
  'documentation-changed': {
    effect: 'compatible',
    summary: 'Descriptions, titles, examples, tags, maintainers, or document URLs changed.',
  },
  'other-difference': { effect: 'breaking', summary: 'Two schemas differ in another way.' },
  'not-compared': {
    effect: 'breaking',
    summary: 'A schema is too large or too deep to compare completely. The rest counts as breaking.',
  },

  'network-required': { effect: 'review', summary: 'The container requires network access.' },
  'storage-required': { effect: 'review', summary: 'The container requires mounted storage.' },
  'capability-dropped': {
    effect: 'compatible',
    summary: 'The container no longer requires network access or mounted storage.',
  },
  'registry-changed': {
    effect: 'review',
    summary: 'The image, executable, or script has another host.',
  },
  'repository-changed': { effect: 'review', summary: 'The image is in another repository of its registry.' },
  'image-changed': { effect: 'compatible', summary: 'The image has another tag or digest.' },
  'digest-removed': {
    effect: 'review',
    summary: 'The image, executable, or script is no longer pinned by digest.',
  },
  'digest-added': {
    effect: 'compatible',
    summary: 'The image, executable, or script is now pinned by digest.',
  },
  'download-changed': {
    effect: 'compatible',
    summary: 'An executable or script has another URL on the same host, or another digest.',
  },
  'runtime-changed': {
    effect: 'review',
    summary: 'A runtime (container, exec, starlark) is added or removed.',
  },
  'platform-added': { effect: 'compatible', summary: 'An executable for another platform is added.' },
  'platform-removed': { effect: 'review', summary: 'The executable for a platform is removed.' },
  'idempotent-removed': {
    effect: 'review',
    summary: 'The function is no longer idempotent.',
  },
  'idempotent-added': { effect: 'compatible', summary: 'The function is now idempotent.' },
  'config-map-removed': {
    effect: 'breaking',
    summary: 'A ConfigMap is no longer accepted as functionConfig.',
  },
  'config-map-added': {
    effect: 'compatible',
    summary: 'A ConfigMap is now also accepted as functionConfig.',
  },
  'license-changed': { effect: 'review', summary: 'The license changed.' },
  'publisher-changed': { effect: 'review', summary: 'The publisher changed.' },
} as const satisfies Record<string, { effect: Effect; summary: string }>;

export type CompatibilityRule = keyof typeof COMPATIBILITY_RULES;

export interface Change {
  rule: CompatibilityRule;
  effect: Effect;
  /** The API version. Absent if the change applies to the whole function. */
  version?: string;
  /**
   * The position in the new definition, such as `spec.versions[0].license`. For removed fields, the nearest existing
   * parent.
   */
  path: string;
  /** The same path in segments, to find its position in a file. */
  at: Path;
  message: string;
}

/** Receives the changes. */
export type Report = (rule: CompatibilityRule, at: Path, message: string) => void;
