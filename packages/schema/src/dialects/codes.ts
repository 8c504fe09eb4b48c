import type { CodeEntry } from '../yaml/codes.js';

/** The codes for corrections of the dialect reader, and for documents that it cannot read. */
export const DIALECT_CODES = {
  'dialect/unknown-document': {
    severity: 'error',
    summary: 'The document is not a KRMFunctionDefinition, Catalog, or KRMFunctionCatalog.',
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
    fix: 'Move the fields of the document under spec.',
  },
  'dialect/unknown-field': {
    severity: 'error',
    summary: 'The document has a field that its kind does not define.',
    fix: 'Correct the spelling, or remove the field.',
  },
  'dialect/catalog-name': {
    severity: 'error',
    summary: 'The catalog has no name.',
    fix: 'Set metadata.name to a string.',
  },
  'dialect/catalog-labels': {
    severity: 'error',
    summary: 'The labels of the catalog are not a mapping of strings.',
    fix: 'Use a string for each label value. Add quotes if needed.',
  },
  'dialect/catalog-functions': {
    severity: 'error',
    summary:
      'spec.krmFunctions of the catalog is missing, is not a list, or has an entry that is not a mapping.',
    fix: 'Use a list. Each entry has the same fields as the spec of a definition.',
  },
  'dialect/api-version': {
    severity: 'warning',
    summary:
      'The apiVersion comes from a draft of the KEP; the document is read as config.kubernetes.io/v1alpha1.',
    fix: 'Set apiVersion to config.kubernetes.io/v1alpha1.',
  },
  'dialect/version-field': {
    severity: 'info',
    summary: 'A field of an API version is next to versions; it is copied into each version without it.',
    fix: 'Move the field into each of the versions.',
  },
  'dialect/kind': {
    severity: 'info',
    summary: 'The kind of the function is next to group instead of in names.',
    fix: 'Move it to names.kind.',
  },
  'dialect/versions-map': {
    severity: 'info',
    summary: 'The field versions is a mapping instead of a list.',
    fix: 'Use a list in versions, and set name in each item.',
  },
  'dialect/version-text': {
    severity: 'info',
    summary: 'An API version is a string instead of a mapping.',
    fix: 'Use a mapping with a name.',
  },
  'dialect/platforms': {
    severity: 'info',
    summary: 'The platforms of an exec runtime are under platform, or directly under exec.',
    fix: 'Move them to exec.platforms.',
  },
  'dialect/exec-path': {
    severity: 'warning',
    summary: 'An exec runtime has the field path (KEP-2953), which is read as bin.',
    fix: 'Rename path to bin, and set uri to the URL of the executable.',
  },
  'dialect/storage-mount': {
    severity: 'info',
    summary:
      'The field requireFilesystem (KEP-2906 user story) or mounts (kustomize) is read as requireStorageMount.',
    fix: 'Rename it to requireStorageMount.',
  },
  'dialect/network': {
    severity: 'warning',
    summary: 'The field network (kustomize, kpt) is read as requireNetwork.',
    fix: 'Rename it to requireNetwork.',
  },
  'dialect/starlark': {
    severity: 'info',
    summary: 'A Starlark runtime is a mapping instead of a reference.',
    fix: 'Set starlark to the reference.',
  },
  'dialect/license': {
    severity: 'info',
    summary: 'The license is spelled differently from its SPDX identifier.',
    fix: 'Use the SPDX identifier.',
  },
  'dialect/digest': {
    severity: 'info',
    summary: 'A digest has the prefix sha256: or upper-case letters, or is in the field digest.',
    fix: 'Set sha256 to 64 lower-case hexadecimal digits.',
  },
  'dialect/maintainers': {
    severity: 'info',
    summary: 'The field emails is read as maintainers.',
    fix: 'Rename it to maintainers.',
  },
  'dialect/tags': {
    severity: 'info',
    summary: 'The fields keywords and types are read as tags.',
    fix: 'Rename it to tags.',
  },
  'dialect/home': {
    severity: 'warning',
    summary: 'The field sourceURL is read as home.',
    fix: 'Rename it to home.',
  },
  'dialect/usage': {
    severity: 'warning',
    summary: 'The field documentation is read as the usage of each version.',
    fix: 'Set usage in each of the versions.',
  },
  'dialect/ignored-field': {
    severity: 'info',
    summary: 'A field of another tool, which does not describe the function, is ignored.',
    fix: 'Remove the field.',
  },
  'dialect/dropped-field': {
    severity: 'warning',
    summary: 'A field without an equivalent in a definition is omitted.',
    fix: 'Remove the field, or use a supported field.',
  },
} as const satisfies Record<string, CodeEntry>;

export type DialectCode = keyof typeof DIALECT_CODES;
