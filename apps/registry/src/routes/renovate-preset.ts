import { fillPath, PATHS } from '@krmhub/api/paths';
import { KPT_IMAGE_PREFIX } from '@krmhub/schema/image-reference';

/** HOST[:PORT]/PATH of an image. Renovate compiles the expressions with RE2, which has no look-ahead. */
const NAME = '(?<depName>[\\w.-]+(?::\\d+)?(?:/[\\w.-]+)*)';
const DIGEST = '@(?<currentDigest>sha256:[a-f0-9]{64})';
/** NAME:TAG, with or without a digest; or NAME@DIGEST with the tag in a comment. */
const IMAGES = [
  `['"]?${NAME}:(?<currentValue>\\w[\\w.-]*)(?:${DIGEST})?`,
  `['"]?${NAME}${DIGEST}['"]?[ \\t]+#[ \\t]*(?<currentValue>\\w[\\w.-]*)`,
];
/** From the annotation to its image: in a block, after `container:` and other fields of it, or in one line. */
const ANNOTATION = 'config\\.(?:kubernetes|k8s)\\.io/function:';
const ANNOTATED = [
  `${ANNOTATION}[ \\t]*[|>][-+\\d]*[ \\t]*\\n[ \\t]+container:[ \\t]*\\n(?:[ \\t]+\\w+:[^\\n]*\\n)*?[ \\t]+image:[ \\t]*`,
  `${ANNOTATION}[^\\n]*\\bimage:[ \\t]*`,
];

const KPTFILE = '/(^|/)Kptfile$/';
const YAML = '/\\.ya?ml$/';

/** Returns the preset for Renovate with the URL of a registry. */
export function renovatePreset(url: string): object {
  const catalogs = url + fillPath('snapshots', { name: 'NAME' });
  const [before, after] = catalogs.split('NAME') as [string, string];
  const images = {
    customType: 'regex',
    datasourceTemplate: 'custom.krmhub-image',
    versioningTemplate: 'semver-coerced',
  };
  // kpt reads a name without a slash as one of its own catalog.
  const kptName = {
    packageNameTemplate: `{{#unless (containsString depName "/")}}${KPT_IMAGE_PREFIX}/{{/unless}}{{{depName}}}`,
  };
  const releases = {
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
        defaultRegistryUrlTemplate: `${before}{{{packageName}}}${after}?limit=1000`,
        transformTemplates: [
          '{"releases": [snapshots[$not($exists(withdrawn))].{"version": $string(serial), "releaseTimestamp": createdAt, "digest": digest}]}',
        ],
      },
    },
    customManagers: [
      {
        ...images,
        ...kptName,
        description: 'Images of a Kptfile',
        managerFilePatterns: [KPTFILE],
        matchStrings: IMAGES.map((image) => `\\bimage:[ \\t]*${image}`),
      },
      {
        ...images,
        ...kptName,
        description: 'Tags of a Kptfile, and constraints on tags',
        managerFilePatterns: [KPTFILE],
        matchStrings: [
          `\\bimage:[ \\t]*['"]?${NAME}['"]?[ \\t]*\\n[ \\t]+tag:[ \\t]*['"]?(?<currentValue>[^"'\\s#]+)`,
        ],
        versioningTemplate: 'npm',
      },
      {
        ...images,
        description: 'Images that a functionConfig names itself',
        managerFilePatterns: [YAML],
        matchStrings: ANNOTATED.flatMap((start) => IMAGES.map((image) => start + image)),
      },
      {
        ...releases,
        description: 'Releases in the annotation krmhub.dev/release of a functionConfig',
        managerFilePatterns: [YAML],
        matchStrings: [
          '$[$contains(apiVersion, "/")].{"depName": $substringBefore(apiVersion, "/") & "/" & kind, "currentValue": metadata.annotations.`krmhub.dev/release`}[currentValue]',
        ],
      },
      {
        customType: 'regex',
        description: 'Catalogs of this registry, at a snapshot',
        managerFilePatterns: [KPTFILE, '/(^|/)(kustomization\\.ya?ml|Kustomization)$/'],
        matchStrings: [
          `${escaped(before)}(?<depName>[a-z0-9-]+)${escaped(after)}/(?<currentValue>\\d+)(?:/catalog\\.(?:yaml|json))?(?:${DIGEST})?`,
        ],
        datasourceTemplate: 'custom.krmhub-catalog',
        // A snapshot can contain breaking changes.
        versioningTemplate: 'regex:^(?<major>\\d+)$',
      },
    ],
  };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
