import { type CodeEntry, error, info, warning } from '@krmhub/yaml/code-entry';

/** The codes for corrections of the dialect reader, and for documents that it cannot read. */
export const DIALECT_CODES = {
  'dialect/unknown-document': error(
    'The document is not a KRMFunctionDefinition, Catalog, or KRMFunctionCatalog.',
    'Set apiVersion to config.kubernetes.io/v1alpha1 and kind to KRMFunctionDefinition or Catalog.',
  ),
  'dialect/misspelled-document': error(
    'The kind or apiVersion of a definition or catalog is misspelled or missing.',
    'Set apiVersion to config.kubernetes.io/v1alpha1 and kind to KRMFunctionDefinition or Catalog.',
  ),
  'dialect/missing-spec': error(
    'The document has no spec, or its spec is not a mapping.',
    'Move the fields of the document under spec.',
  ),
  'dialect/unknown-field': error(
    'The document has a field that its kind does not define.',
    'Correct the spelling, or remove the field.',
  ),
  'dialect/catalog-name': error('The catalog has no name.', 'Set metadata.name to a string.'),
  'dialect/catalog-labels': error(
    'The labels of the catalog are not a mapping of strings.',
    'Use a string for each label value. Add quotes if needed.',
  ),
  'dialect/catalog-functions': error(
    'spec.krmFunctions of the catalog is missing, is not a list, or has an entry that is not a mapping.',
    'Use a list. Each entry has the same fields as the spec of a definition.',
  ),
  'dialect/api-version': warning(
    'The apiVersion comes from a draft of the KEP; the document is read as config.kubernetes.io/v1alpha1.',
    'Set apiVersion to config.kubernetes.io/v1alpha1.',
  ),
  'dialect/version-field': info(
    'A field of an API version is next to versions; it is copied into each version without it.',
    'Move the field into each of the versions.',
  ),
  'dialect/kind': info(
    'The kind of the function is next to group instead of in names.',
    'Move it to names.kind.',
  ),
  'dialect/versions-map': info(
    'The field versions is a mapping instead of a list.',
    'Use a list in versions, and set name in each item.',
  ),
  'dialect/version-text': info(
    'An API version is a string instead of a mapping.',
    'Use a mapping with a name.',
  ),
  'dialect/platforms': info(
    'The platforms of an exec runtime are under platform, or directly under exec.',
    'Move them to exec.platforms.',
  ),
  'dialect/exec-path': warning(
    'An exec runtime has the field path (KEP-2953), which is read as bin.',
    'Rename path to bin, and set uri to the URL of the executable.',
  ),
  'dialect/storage-mount': info(
    'The field requireFilesystem (KEP-2906 user story) or mounts (kustomize) is read as requireStorageMount.',
    'Rename it to requireStorageMount.',
  ),
  'dialect/network': warning(
    'The field network (kustomize, kpt) is read as requireNetwork.',
    'Rename it to requireNetwork.',
  ),
  'dialect/starlark': info(
    'A Starlark runtime is a mapping instead of a reference.',
    'Set starlark to the reference.',
  ),
  'dialect/license': info(
    'The license is spelled differently from its SPDX identifier.',
    'Use the SPDX identifier.',
  ),
  'dialect/digest': info(
    'A digest has the prefix sha256: or upper-case letters, or is in the field digest.',
    'Set sha256 to 64 lower-case hexadecimal digits.',
  ),
  'dialect/maintainers': info('The field emails is read as maintainers.', 'Rename it to maintainers.'),
  'dialect/tags': info('The fields keywords and types are read as tags.', 'Rename it to tags.'),
  'dialect/home': warning('The field sourceURL is read as home.', 'Rename it to home.'),
  'dialect/usage': warning(
    'The field documentation is read as the usage of each version.',
    'Set usage in each of the versions.',
  ),
  'dialect/ignored-field': info(
    'A field of another tool, which does not describe the function, is ignored.',
    'Remove the field.',
  ),
  'dialect/dropped-field': warning(
    'A field without an equivalent in a definition is omitted.',
    'Remove the field, or use a supported field.',
  ),
} as const satisfies Record<string, CodeEntry>;

export type DialectCode = keyof typeof DIALECT_CODES;
