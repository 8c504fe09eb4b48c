import { fillPath, PATHS } from '@krmhub/api/paths';
import { KPT_IMAGE_PREFIX } from '@krmhub/schema/image-reference';

/** HOST[:PORT]/PATH of an image. Renovate compiles the expressions with RE2, which has no look-ahead. */
const NAME = '(?<depName>[\\w.-]+(?::\\d+)?(?:/[\\w.-]+)*)';
const DIGEST = 'sha256:[a-f0-9]{64}';
const TAG = '\\w[\\w.-]*';
/** From the annotation to its image: in a block, after `container:` and other fields of it, or in one line. */
const ANNOTATION = 'config\\.(?:kubernetes|k8s)\\.io/function:';
const BLOCK = `[ \\t]*[|>][-+\\d]*[ \\t]*\\n[ \\t]+container:[ \\t]*\\n(?:[ \\t]+\\w+:[^\\n]*\\n)*?[ \\t]+`;
const KPTFILE = '/(^|/)Kptfile$/';
const YAML = '/\\.ya?ml$/';

/**
 * A text and the part of it that Renovate changes. It replaces the first occurrence of a version in that part, and the
 * whole text often has an earlier one: a `2` in a host, or `v1` in a name.
 */
type Levels = readonly [whole: string, changed: string];

/** NAME:TAG with or without a digest, and NAME@DIGEST with the tag in a comment. */
const images = (start: string): Levels[] => [
  [
    `${start}image:[ \\t]*['"]?${NAME}:${TAG}(?:@${DIGEST})?`,
    `:(?<currentValue>${TAG})(?:@(?<currentDigest>${DIGEST}))?$`,
  ],
  [
    `${start}image:[ \\t]*['"]?${NAME}@${DIGEST}['"]?[ \\t]+#[ \\t]*${TAG}`,
    `@(?<currentDigest>${DIGEST})['"]?[ \\t]+#[ \\t]*(?<currentValue>${TAG})$`,
  ],
];

const regex = (matchStrings: Levels, manager: object) => ({
  customType: 'regex',
  ...manager,
  matchStringsStrategy: 'recursive',
  matchStrings,
});

/** Returns the preset for Renovate with the URL of a registry. */
export function renovatePreset(url: string): object {
  const [catalogs, snapshots] = fillPath('snapshots', { name: '/' }).split('%2F') as [string, string];
  const image = { datasourceTemplate: 'custom.krmhub-image', versioningTemplate: 'semver-coerced' };
  const kptfile = {
    ...image,
    managerFilePatterns: [KPTFILE],
    // kpt reads a name without a slash as one of its own catalog.
    packageNameTemplate: `{{#unless (containsString depName "/")}}${KPT_IMAGE_PREFIX}/{{/unless}}{{{depName}}}`,
  };
  const ranges = {
    customType: 'jsonata',
    fileFormat: 'yaml',
    datasourceTemplate: 'custom.krmhub',
    versioningTemplate: 'npm',
  };
  return {
    $schema: 'https://docs.renovatebot.com/renovate-schema.json',
    description: [`KRM functions of ${url}`],
    customDatasources: {
      krmhub: { defaultRegistryUrlTemplate: `${url}${PATHS.renovate.split('{')[0]}{{{packageName}}}` },
      'krmhub-image': {
        defaultRegistryUrlTemplate: `${url}${PATHS.renovateImage}?image={{{encodeURIComponent packageName}}}`,
      },
      'krmhub-catalog': {
        defaultRegistryUrlTemplate: `${url}${catalogs}{{{packageName}}}${snapshots}?limit=1000`,
        transformTemplates: [
          '{"releases": [snapshots[$not($exists(withdrawn))].{"version": $string(serial), "releaseTimestamp": createdAt, "digest": digest}]}',
        ],
      },
    },
    customManagers: [
      ...images('\\b').map((levels) => regex(levels, { ...kptfile, description: 'Images of a Kptfile' })),
      regex(
        [
          `\\bimage:[ \\t]*['"]?${NAME}['"]?[ \\t]*\\n[ \\t]+tag:[ \\t]*['"]?[^"'\\s#]+`,
          `\\btag:[ \\t]*['"]?(?<currentValue>[^"'\\s#]+)$`,
        ],
        { ...kptfile, description: 'Tags of a Kptfile, and constraints on tags', versioningTemplate: 'npm' },
      ),
      ...[`${ANNOTATION}${BLOCK}`, `${ANNOTATION}[^\\n]*\\b`].flatMap(images).map((levels) =>
        regex(levels, {
          ...image,
          description: 'Images that a functionConfig names itself',
          managerFilePatterns: [YAML],
        }),
      ),
      {
        ...ranges,
        description: 'Releases in the annotation krmhub.dev/release of a functionConfig',
        managerFilePatterns: [YAML],
        matchStrings: [
          '$[$contains(apiVersion, "/")].{"depName": $substringBefore(apiVersion, "/") & "/" & kind, "currentValue": metadata.annotations.`krmhub.dev/release`}[currentValue]',
        ],
      },
      {
        ...ranges,
        description: 'Releases in krmhub.yaml, of functions with a group',
        managerFilePatterns: ['/(^|/)krmhub\\.yaml$/'],
        matchStrings: [
          '$[kind = "PackageSettings"].functions[group and release].{"depName": group & "/" & kind, "currentValue": release}',
        ],
      },
      regex(
        [
          `${escaped(url + catalogs)}(?<depName>[a-z0-9-]+)${escaped(snapshots)}/\\d+(?:/catalog\\.(?:yaml|json))?(?:@${DIGEST})?`,
          `${escaped(snapshots)}/(?<currentValue>\\d+)(?:/catalog\\.(?:yaml|json))?(?:@(?<currentDigest>${DIGEST}))?$`,
        ],
        {
          description: 'Catalogs of this registry, at a snapshot',
          managerFilePatterns: [KPTFILE, '/(^|/)(kustomization\\.ya?ml|Kustomization)$/'],
          datasourceTemplate: 'custom.krmhub-catalog',
          // A snapshot can contain breaking changes.
          versioningTemplate: 'regex:^(?<major>\\d+)$',
        },
      ),
    ],
  };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
