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
  quiet: { label: 'quiet', meaning: 'No action is required.' },
};

/**
 * The classes of changes between two catalogs, in report order. docs/compatibility.md is generated from this table.
 */
export const CATALOG_CHANGE_CLASSES = {
  'function-removed': { weight: 'breaking', summary: 'A function is no longer in the catalog.' },
  'function-added': { weight: 'quiet', summary: 'A function is added to the catalog.' },
  'version-removed': { weight: 'breaking', summary: 'An API version of a function is removed.' },
  'alpha-version-removed': { weight: 'review', summary: 'An alpha API version of a function is removed.' },
  'version-added': { weight: 'quiet', summary: 'An API version of a function is added.' },

  'schema-breaking': {
    weight: 'breaking',
    summary:
      'The schema or the accepted functionConfig changed: existing files are rejected, or their meaning changes.',
  },
  'schema-review': {
    weight: 'review',
    summary: 'The schema changed: the meaning of existing files may differ.',
  },
  'schema-compatible': {
    weight: 'quiet',
    summary: 'The schema changed: existing files stay valid and keep their meaning.',
  },
  'idempotent-removed': {
    weight: 'review',
    summary: 'The function is no longer idempotent.',
  },
  'idempotent-added': { weight: 'quiet', summary: 'The function is now idempotent.' },

  upgraded: {
    weight: 'quiet',
    summary: 'The release is higher. If it is unknown, the image tag or the version in the URL is higher.',
  },
  downgraded: {
    weight: 'review',
    summary: 'The release is lower. If it is unknown, the image tag or the version in the URL is lower.',
  },
  'release-changed': {
    weight: 'review',
    summary: 'The release, image tag, or URL changed. The order is unknown.',
  },
  rebuilt: {
    weight: 'quiet',
    summary: 'Only the digest changed: the image repository and tag, or the executable URL, are the same.',
  },
  'digest-removed': {
    weight: 'review',
    summary: 'The image, executable, or script is no longer pinned by digest.',
  },
  'digest-added': {
    weight: 'quiet',
    summary: 'The image, executable, or script is now pinned by digest.',
  },

  'network-needed': { weight: 'review', summary: 'The container now requires network access.' },
  'network-dropped': { weight: 'quiet', summary: 'The container no longer requires network access.' },
  'storage-needed': {
    weight: 'review',
    summary: 'The container now requires mounted storage.',
  },
  'storage-dropped': { weight: 'quiet', summary: 'The container no longer requires mounted storage.' },
  'registry-changed': {
    weight: 'review',
    summary: 'The image has another registry or repository, or the executable or script has another host.',
  },
  'runtime-changed': {
    weight: 'review',
    summary: 'A runtime (container, exec, starlark) is added or removed.',
  },
  'platform-removed': { weight: 'review', summary: 'The executable for a platform is removed.' },
  'platform-added': { weight: 'quiet', summary: 'An executable for another platform is added.' },

  'signer-changed': { weight: 'review', summary: 'The signer changed.' },
  'signature-removed': {
    weight: 'review',
    summary: 'The signature by a trusted signer of the recipe is removed.',
  },
  'signature-added': {
    weight: 'quiet',
    summary: 'A signature by a trusted signer of the recipe is added.',
  },
  'source-changed': { weight: 'review', summary: 'Another source of the recipe now provides the function.' },
  'publisher-changed': { weight: 'review', summary: 'The publisher changed.' },
  'license-changed': { weight: 'review', summary: 'The license changed.' },
  'texts-changed': {
    weight: 'quiet',
    summary: 'Descriptions, tags, maintainers, or document URLs changed.',
  },
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
