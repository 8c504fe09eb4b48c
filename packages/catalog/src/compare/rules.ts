import type { Path } from '@krmhub/schema';

/**
 * The effect of a change on existing functionConfigs. `breaking`: files are rejected, or their meaning changes.
 * `review`: files are accepted, but their meaning or the permissions of the function can differ.
 */
export type Effect = 'breaking' | 'review' | 'compatible';

const breaking = (summary: string) => ({ effect: 'breaking', summary }) as const;
const review = (summary: string) => ({ effect: 'review', summary }) as const;
const compatible = (summary: string) => ({ effect: 'compatible', summary }) as const;

/** All kinds of changes. docs/compatibility.md is generated from this table. */
export const COMPATIBILITY_RULES = {
  'function-renamed': breaking('The group or the kind changed.'),
  'version-removed': breaking('An API version is removed.'),
  'alpha-version-removed': review('An alpha API version is removed.'),
  'version-added': compatible('An API version is added.'),

  'property-removed': breaking('A field is removed.'),
  'property-added': compatible('An optional field is added. Its own fields may be required.'),
  'property-added-to-open': breaking(
    'A field is declared that was undeclared but accepted: existing files may use it with other content.',
  ),
  'property-added-with-default': review(
    'An optional field with a default is added: it applies to files that omit the field.',
  ),
  'required-property-added': breaking(
    'A required field is added, with or without a default: some validators do not apply defaults.',
  ),
  'property-required': breaking('An optional field becomes required.'),
  'property-optional': compatible('A required field becomes optional.'),

  'type-changed': breaking('The type changed.'),
  'integer-to-number': compatible('The type changed from integer to number.'),
  'int-or-string-allowed': compatible('The type was integer or string. Now both are accepted.'),
  'any-type-allowed': review(
    'The type is removed, and any value is accepted (`x-kubernetes-preserve-unknown-fields`).',
  ),

  'enum-narrowed': breaking('An enum is added, or one of its values is removed.'),
  'enum-widened': compatible('A value is added to an enum, or the enum is removed.'),
  'pattern-changed': breaking('A pattern is added or changed.'),
  'pattern-dropped': compatible('A pattern is removed.'),
  'bound-tightened': breaking(
    'A bound on numbers, lengths, or counts is added or tightened, or `multipleOf` is tightened.',
  ),
  'bound-loosened': compatible(
    'A bound is loosened or removed, or a minimum of 0 items, characters, or fields is added.',
  ),
  'format-added': breaking('A format that Kubernetes knows is added.'),
  'unknown-format-added': compatible('A format is added that Kubernetes does not know and ignores.'),
  'nullable-removed': breaking('Null is no longer allowed.'),
  'nullable-added': compatible('Null is now allowed.'),
  'default-added': review('A default is added to an existing field.'),
  'default-changed': breaking('A default is changed or removed.'),

  closed: breaking(
    'An object or map accepted any field, and now accepts only declared fields or values of one schema.',
  ),
  opened: compatible('An object now accepts undeclared fields, or a map accepts any value.'),
  'preserve-unknown-removed': breaking('`x-kubernetes-preserve-unknown-fields` is removed.'),
  'list-type-changed': breaking('A list becomes a set or a map, or its map keys change.'),
  'list-made-atomic': review('A set or map list becomes atomic.'),
  'map-type-changed': review('`x-kubernetes-map-type` changed.'),
  'embedded-resource-added': breaking(
    'An object must be a complete resource (`x-kubernetes-embedded-resource`).',
  ),
  'cel-rule-changed': breaking('A CEL rule is added or changed.'),
  'restriction-added': breaking('A branch of allOf, a `not`, an anyOf, or a oneOf is added.'),
  'restriction-dropped': compatible(
    'A branch of allOf, a `not`, a CEL rule, an anyOf, or a oneOf is removed.',
  ),
  'any-of-branch-added': compatible('A branch of anyOf is added.'),
  'one-of-branch-added': breaking(
    'A branch of oneOf is added: a value that matched one branch can now match two.',
  ),
  'branch-removed': breaking('A branch of anyOf or oneOf is removed or changed.'),
  'schema-declared': review('The schema restricts files for the first time. It declared no fields before.'),
  'documentation-changed': compatible(
    'Descriptions, titles, examples, tags, maintainers, or document URLs changed.',
  ),
  'other-difference': breaking('Two schemas differ in another way.'),
  'not-compared': breaking(
    'A schema is too large or too deep to compare completely. The rest counts as breaking.',
  ),

  'network-required': review('The container requires network access.'),
  'storage-required': review('The container requires mounted storage.'),
  'capability-dropped': compatible('The container no longer requires network access or mounted storage.'),
  'registry-changed': review('The image, executable, or script has another host.'),
  'repository-changed': review('The image is in another repository of its registry.'),
  'image-changed': compatible('The image has another tag or digest.'),
  'digest-removed': review('The image, executable, or script is no longer pinned by digest.'),
  'digest-added': compatible('The image, executable, or script is now pinned by digest.'),
  'download-changed': compatible(
    'An executable or script has another URL on the same host, or another digest.',
  ),
  'runtime-changed': review('A runtime (container, exec, starlark) is added or removed.'),
  'platform-added': compatible('An executable for another platform is added.'),
  'platform-removed': review('The executable for a platform is removed.'),
  'idempotent-removed': review('The function is no longer idempotent.'),
  'idempotent-added': compatible('The function is now idempotent.'),
  'config-map-removed': breaking('A ConfigMap is no longer accepted as functionConfig.'),
  'config-map-added': compatible('A ConfigMap is now also accepted as functionConfig.'),
  'license-changed': review('The license changed.'),
  'publisher-changed': review('The publisher changed.'),
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
