/**
 * Classes of the changes between two catalogs, by their impact on the users of a catalog.
 *
 * @module
 */

import type { FunctionName } from '@krmhub/schema';
import type { CompatibilityRule } from '../rules.js';

/**
 * The impact of a change on the users of a catalog. `breaking`: existing files are rejected, or a function is removed.
 * `review`: the provider or the permissions of a function changed. `quiet`: no action is required.
 */
export const CATALOG_CHANGE_IMPACTS = ['breaking', 'review', 'quiet'] as const;
export type CatalogChangeImpact = (typeof CATALOG_CHANGE_IMPACTS)[number];

/** The name of each severity in counts, and its meaning. */
export const CATALOG_CHANGE_IMPACT_LABELS: Record<CatalogChangeImpact, { label: string; meaning: string }> = {
  breaking: { label: 'breaking', meaning: 'Existing files are rejected, or a function is no longer served.' },
  review: {
    label: 'to review',
    meaning: 'Review the change: the provider, the permissions, or the behavior of a function may differ.',
  },
  quiet: { label: 'compatible', meaning: 'No action is required.' },
};

const breaking = (summary: string) => ({ weight: 'breaking', summary }) as const;
const review = (summary: string) => ({ weight: 'review', summary }) as const;
const quiet = (summary: string) => ({ weight: 'quiet', summary }) as const;

/**
 * The classes of changes between two catalogs, in report order. docs/compatibility.md is generated from this table.
 */
export const CATALOG_CHANGE_CLASSES = {
  'function-removed': breaking('A function is no longer in the catalog.'),
  'function-added': quiet('A function is added to the catalog.'),
  'version-removed': breaking('An API version of a function is removed.'),
  'alpha-version-removed': review('An alpha API version of a function is removed.'),
  'version-added': quiet('An API version of a function is added.'),

  'schema-breaking': breaking(
    'The schema or the accepted functionConfig changed: existing files are rejected, or their meaning changes.',
  ),
  'schema-review': review('The schema changed: the meaning of existing files may differ.'),
  'schema-compatible': quiet('The schema changed: existing files stay valid and keep their meaning.'),
  'idempotent-removed': review('The function is no longer idempotent.'),
  'idempotent-added': quiet('The function is now idempotent.'),

  upgraded: quiet(
    'The release is higher. If it is unknown, the image tag or the version in the URL is higher.',
  ),
  downgraded: review(
    'The release is lower. If it is unknown, the image tag or the version in the URL is lower.',
  ),
  'release-changed': review('The release, image tag, or URL changed. The order is unknown.'),
  rebuilt: quiet('Only the digest changed: the repository and tag, or the URL, are the same.'),
  'digest-removed': review('The image, executable, or script is no longer pinned by digest.'),
  'digest-added': quiet('The image, executable, or script is now pinned by digest.'),

  'network-needed': review('The container now requires network access.'),
  'network-dropped': quiet('The container no longer requires network access.'),
  'storage-needed': review('The container now requires mounted storage.'),
  'storage-dropped': quiet('The container no longer requires mounted storage.'),
  'registry-changed': review(
    'The image has another registry or repository, or the executable or script has another host.',
  ),
  'runtime-changed': review('A runtime (container, exec, starlark) is added or removed.'),
  'platform-removed': review('The executable for a platform is removed.'),
  'platform-added': quiet('An executable for another platform is added.'),

  'signer-changed': review('The signer changed.'),
  'signature-removed': review('The signature by a trusted signer of the recipe is removed.'),
  'signature-added': quiet('A signature by a trusted signer of the recipe is added.'),
  'source-changed': review('Another source of the recipe now provides the function.'),
  'publisher-changed': review('The publisher changed.'),
  'license-changed': review('The license changed.'),
  'texts-changed': quiet('Descriptions, tags, maintainers, or document URLs changed.'),
} as const satisfies Record<string, { weight: CatalogChangeImpact; summary: string }>;

export type CatalogChangeClass = keyof typeof CATALOG_CHANGE_CLASSES;

export interface CatalogChange extends FunctionName {
  /** The API version. Absent if the change applies to the whole function. */
  version?: string;
  class: CatalogChangeClass;
  weight: CatalogChangeImpact;
  /** The rule of the comparison of definitions. Absent for a change of the catalog only. */
  rule?: CompatibilityRule;
  message: string;
  /** The old value, if it is a single value: a release, a reference, a digest, or a name. */
  before?: string;
  after?: string;
}
