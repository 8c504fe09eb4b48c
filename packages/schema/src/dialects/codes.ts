import type { CodeEntry } from '../yaml/codes.js';

/** What the dialect reader corrects on its way to the normal form, and the documents it cannot read. */
export const DIALECT_CODES = {
  'dialect/unknown-document': {
    severity: 'error',
    summary: 'The document is not a KRMFunctionDefinition, Catalog or KRMFunctionCatalog.',
    fix: 'Set apiVersion to config.kubernetes.io/v1alpha1 and kind to KRMFunctionDefinition or Catalog.',
  },
  'dialect/misspelled-document': {
    severity: 'error',
    summary: 'The kind or apiVersion of a definition or catalog is misspelled or missing.',
    fix: 'Set apiVersion to config.kubernetes.io/v1alpha1 and kind to KRMFunctionDefinition or Catalog.',
  },
  'dialect/missing-spec': {
    severity: 'error',
    summary: 'The document has no spec, or its spec is not a mapping.',
    fix: 'Write the fields of the document under spec.',
  },
  'dialect/unknown-field': {
    severity: 'error',
    summary: 'The document has a field that its kind does not define.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'dialect/catalog-name': {
    severity: 'error',
    summary: 'The catalog has no name.',
    fix: 'Write the name as text in metadata.name.',
  },
  'dialect/catalog-labels': {
    severity: 'error',
    summary: 'The labels of the catalog are not a mapping of strings.',
    fix: 'Write each label value as a string, in quotes if needed.',
  },
  'dialect/catalog-functions': {
    severity: 'error',
    summary:
      'spec.krmFunctions of the catalog is missing or not a list, or one of its entries is not a mapping.',
    fix: 'List the functions under spec.krmFunctions, each a mapping as in the spec of a definition.',
  },
  'dialect/api-version': {
    severity: 'warning',
    summary:
      'The apiVersion is one that KEP drafts used; the document is read as config.kubernetes.io/v1alpha1.',
    fix: 'Set apiVersion to config.kubernetes.io/v1alpha1.',
  },
  'dialect/version-field': {
    severity: 'info',
    summary: 'A field of an API version is next to versions; it is copied into every version that lacks it.',
    fix: 'Move the field into each of the versions.',
  },
  'dialect/kind': {
    severity: 'info',
    summary: 'The kind of the function is next to group instead of in names.',
    fix: 'Write names.kind.',
  },
  'dialect/versions-map': {
    severity: 'info',
    summary: 'versions is a mapping instead of a list.',
    fix: 'Write versions as a list whose items have a name.',
  },
  'dialect/version-text': {
    severity: 'info',
    summary: 'An API version is a string instead of a mapping.',
    fix: 'Write the version as a mapping with a name.',
  },
  'dialect/platforms': {
    severity: 'info',
    summary: 'The platforms of an exec runtime are under platform, or directly under exec.',
    fix: 'Write exec.platforms.',
  },
  'dialect/exec-path': {
    severity: 'warning',
    summary: 'An exec runtime has path, as KEP-2953 writes it; it is read as bin.',
    fix: 'Write bin, and the URL of the executable in uri.',
  },
  'dialect/storage-mount': {
    severity: 'info',
    summary:
      'requireFilesystem, from a user story of KEP-2906, or mounts, as kustomize writes it, is read as requireStorageMount.',
    fix: 'Write requireStorageMount.',
  },
  'dialect/network': {
    severity: 'warning',
    summary: 'network, as kustomize and kpt write it, is read as requireNetwork.',
    fix: 'Write requireNetwork.',
  },
  'dialect/starlark': {
    severity: 'info',
    summary: 'A Starlark runtime is a mapping instead of the reference itself.',
    fix: 'Write the reference as the value of starlark.',
  },
  'dialect/license': {
    severity: 'info',
    summary: 'The license is spelled differently from its SPDX identifier.',
    fix: 'Write the SPDX identifier.',
  },
  'dialect/digest': {
    severity: 'info',
    summary: 'A digest has the prefix sha256:, capital letters, or is in the field digest.',
    fix: 'Write sha256 with 64 lower-case hexadecimal digits.',
  },
  'dialect/maintainers': {
    severity: 'info',
    summary: 'emails is read as maintainers.',
    fix: 'Write maintainers.',
  },
  'dialect/tags': {
    severity: 'info',
    summary: 'keywords or types are read as tags.',
    fix: 'Write tags.',
  },
  'dialect/home': {
    severity: 'warning',
    summary: 'sourceURL is read as home.',
    fix: 'Write home.',
  },
  'dialect/usage': {
    severity: 'warning',
    summary: 'documentation is read as the usage of each version.',
    fix: 'Write usage in each of the versions.',
  },
  'dialect/ignored-field': {
    severity: 'info',
    summary: 'A field that other tools write and that does not describe the function is ignored.',
    fix: 'Remove the field.',
  },
  'dialect/dropped-field': {
    severity: 'warning',
    summary: 'A field that the normal form does not have is omitted.',
    fix: 'Remove the field, or use a supported field.',
  },
} as const satisfies Record<string, CodeEntry>;

export type DialectCode = keyof typeof DIALECT_CODES;
