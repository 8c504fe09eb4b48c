import type { FunctionName } from '@krmhub/schema';
import type { CompatibilityRule } from '../rules.js';

/**
 * What a change asks of those who read a catalog: `breaking` files are refused or not served any more; after a `review`
 * somebody should have looked, for who provides a function or what it may do has moved; `quiet` is told and no more.
 */
export const CATALOG_CHANGE_IMPACTS = ['breaking', 'review', 'quiet'] as const;
export type CatalogChangeImpact = (typeof CATALOG_CHANGE_IMPACTS)[number];

/** How each is called in counts, and what it says. */
export const CATALOG_CHANGE_IMPACT_LABELS: Record<CatalogChangeImpact, { label: string; meaning: string }> = {
  breaking: { label: 'breaking', meaning: 'Files are refused, or are not served any more.' },
  review: {
    label: 'to review',
    meaning: 'Somebody should have looked: who provides a function, or what it may do, has moved.',
  },
  quiet: { label: 'quiet', meaning: 'It is told, and asks for nothing.' },
};

/** Every class of change between two catalogs, in the order in which they are told: docs/compatibility.md is made from this table. */
export const CATALOG_CHANGE_CLASSES = {
  'function-removed': { weight: 'breaking', summary: 'A function is no longer in the catalog.' },
  'function-added': { weight: 'quiet', summary: 'A function is in the catalog for the first time.' },
  'version-removed': { weight: 'breaking', summary: 'An API version of a function is removed.' },
  'alpha-version-removed': { weight: 'review', summary: 'An alpha API version of a function is removed.' },
  'version-added': { weight: 'quiet', summary: 'An API version of a function is added.' },

  'schema-breaking': {
    weight: 'breaking',
    summary:
      'The schema, or what is taken as functionConfig, changed so that files are refused or mean something else.',
  },
  'schema-review': {
    weight: 'review',
    summary: 'The schema changed so that what files mean can have moved.',
  },
  'schema-compatible': {
    weight: 'quiet',
    summary: 'The schema changed, and files stay valid and keep their meaning.',
  },
  'idempotent-removed': {
    weight: 'review',
    summary: 'The function is no longer idempotent.',
  },
  'idempotent-added': { weight: 'quiet', summary: 'The function is idempotent.' },

  upgraded: {
    weight: 'quiet',
    summary: 'The release is a higher one; where none is known, the tag of the image or the address is.',
  },
  downgraded: { weight: 'review', summary: 'The release, or the tag or address, is a lower one.' },
  'release-changed': {
    weight: 'review',
    summary: 'The release, tag or address changed, and which is the higher is not known.',
  },
  rebuilt: {
    weight: 'quiet',
    summary:
      'Only the digest differs: the image has the same repository and tag, the executable the same address.',
  },
  'digest-removed': { weight: 'review', summary: 'The image is no longer pinned by its digest.' },
  'digest-added': { weight: 'quiet', summary: 'The image is pinned by its digest.' },

  'network-needed': { weight: 'review', summary: 'The container asks for the network, and did not.' },
  'network-dropped': { weight: 'quiet', summary: 'The container no longer asks for the network.' },
  'storage-needed': {
    weight: 'review',
    summary: 'The container asks for storage to be mounted, and did not.',
  },
  'storage-dropped': { weight: 'quiet', summary: 'The container no longer asks for storage to be mounted.' },
  'registry-changed': {
    weight: 'review',
    summary:
      'The image comes from another registry or repository, the executable or script from another host.',
  },
  'runtime-changed': {
    weight: 'review',
    summary: 'A way to run the function (container, exec, starlark) is added or removed.',
  },
  'platform-removed': { weight: 'review', summary: 'The executable for a platform is removed.' },
  'platform-added': { weight: 'quiet', summary: 'An executable for one more platform is added.' },

  'signer-changed': { weight: 'review', summary: 'Somebody else signed it.' },
  'signature-removed': {
    weight: 'review',
    summary: 'It was signed by somebody whom the recipe trusts, and is not.',
  },
  'signature-added': {
    weight: 'quiet',
    summary: 'It is signed by somebody whom the recipe trusts, and was not.',
  },
  'source-changed': { weight: 'review', summary: 'Another source of the recipe provides it.' },
  'publisher-changed': { weight: 'review', summary: 'The publisher changed.' },
  'license-changed': { weight: 'review', summary: 'The license changed.' },
  'texts-changed': {
    weight: 'quiet',
    summary: 'Descriptions, tags, maintainers or addresses of documents differ.',
  },
} as const satisfies Record<string, { weight: CatalogChangeImpact; summary: string }>;

export type CatalogChangeClass = keyof typeof CATALOG_CHANGE_CLASSES;

export interface CatalogChange extends FunctionName {
  /** The API version that it concerns; absent for the function as a whole. */
  version?: string;
  class: CatalogChangeClass;
  weight: CatalogChangeImpact;
  /** The rule of the comparison of two definitions that tells it; absent where the catalog alone does. */
  rule?: CompatibilityRule;
  message: string;
  /** What it was, where that is one value: a release, a reference, a digest, a name. */
  before?: string;
  after?: string;
}
