/**
 * Reads definitions and catalogs in any known dialect into the normal form.
 *
 * @module
 */

import type { YamlDocument } from '@krmhub/yaml/read/read-yaml';
import { shorten } from '@krmhub/yaml/read/scalars';
import { defined } from '../defined.js';
import type { Diagnostic } from '../diagnostics/diagnostic.js';
import { CATALOG_KINDS, type CatalogKind } from '../documents/catalog.js';
import { type JsonObject, type JsonValue, KRM_API_VERSION } from '../documents/definition.js';
import { isObject, textField } from '../json/access.js';
import { Corrections } from './corrections.js';
import { readDefinition } from './definition.js';
import type { Draft } from './draft.js';
import { recognizeDocument } from './recognize.js';

export { DIALECT_CODES, type DialectCode } from './codes.js';

export interface Dialect {
  /** Corrections and errors. */
  diagnostics: Diagnostic[];
  /** One draft for a definition, or one for each entry of a catalog. */
  drafts: Draft[];
  /** Undefined for other kinds of documents, with an error in the diagnostics. */
  kind: 'KRMFunctionDefinition' | CatalogKind | undefined;
  /** The document is certainly of another tool. */
  foreign?: true;
  /** Of a catalog that has a name. */
  catalog?: { name: string; labels?: Record<string, string> };
}

/** API versions in drafts of the KEPs and in files of that time. */
const DRAFT_API_VERSION =
  /^(?:kustomize\.io|kustomize\.config\.k8s\.io|config\.kubernetes\.io|krm\.dev)\/v\d/;

/**
 * Reads a definition or catalog in any known dialect into the normal form. The structure is not checked: fields may be
 * missing or have another type, and lint reports unknown fields.
 */
export function readDialect(document: YamlDocument, file: string): Dialect {
  const corrections = new Corrections(document, file);
  const { diagnostics } = corrections;
  const kind = readKind(document.value, corrections);
  if (kind === undefined || !isObject(document.value)) {
    const { foreign } = recognizeDocument(document.value);
    return { diagnostics, drafts: [], kind: undefined, ...defined({ foreign }) };
  }

  const { spec } = document.value;
  checkFields(document.value, ['apiVersion', 'kind', 'metadata', 'spec'], [], corrections);
  const catalog = kind === 'KRMFunctionDefinition' ? undefined : readCatalogName(document.value, corrections);
  if (!isObject(spec)) {
    corrections.report(
      'dialect/missing-spec',
      spec === undefined ? 'spec is missing' : 'spec is not a mapping',
      ['spec'],
    );
    return { diagnostics, drafts: [], kind, ...defined({ catalog }) };
  }
  if (kind === 'KRMFunctionDefinition') {
    if (document.value.metadata !== undefined) {
      corrections.report('dialect/ignored-field', 'metadata is omitted: a definition has no metadata', [
        'metadata',
      ]);
    }
    return { diagnostics, drafts: [readDefinition(spec, ['spec'], file, corrections)], kind };
  }
  checkFields(spec, ['krmFunctions'], ['spec'], corrections);
  const drafts = readEntries(spec, file, corrections);
  return { diagnostics, drafts, kind, ...defined({ catalog }) };
}

function readKind(value: JsonValue, corrections: Corrections): Dialect['kind'] {
  const kind = ['KRMFunctionDefinition', ...CATALOG_KINDS].find(
    (known) => known === textField(value, 'kind'),
  );
  const apiVersion = textField(value, 'apiVersion');
  if (kind !== undefined && apiVersion === KRM_API_VERSION) return kind as Dialect['kind'];
  if (kind !== undefined && apiVersion !== undefined && DRAFT_API_VERSION.test(apiVersion)) {
    const message = `apiVersion ${shorten(apiVersion)} is read as ${KRM_API_VERSION}`;
    corrections.report('dialect/api-version', message, ['apiVersion'], 'value');
    return kind as Dialect['kind'];
  }
  const { name, hint, misspelled } = recognizeDocument(value);
  const path =
    kind !== undefined && apiVersion !== undefined
      ? ['apiVersion']
      : isObject(value) && 'kind' in value
        ? ['kind']
        : [];
  const expected = `expected a KRMFunctionDefinition, Catalog, or KRMFunctionCatalog of ${KRM_API_VERSION}`;
  const code = misspelled === true ? 'dialect/misspelled-document' : 'dialect/unknown-document';
  corrections.report(code, `this is ${name}; ${expected}`, path, 'value', hint);
  return undefined;
}

function readCatalogName(value: JsonObject, corrections: Corrections): Dialect['catalog'] {
  const { metadata } = value;
  const fields = isObject(metadata) ? metadata : {};
  for (const name of Object.keys(fields)) {
    if (name === 'name' || name === 'labels') continue;
    corrections.report('dialect/ignored-field', `metadata.${shorten(name)} is omitted`, ['metadata', name]);
  }
  const labels = readLabels(fields.labels, corrections);
  const { name } = fields;
  if (typeof name !== 'string' || name.trim() === '') {
    const what = name === undefined ? 'the catalog has no name' : 'the name of the catalog is not a string';
    corrections.report('dialect/catalog-name', what, ['metadata', 'name'], 'value');
    return undefined;
  }
  return labels === undefined ? { name } : { name, labels };
}

function readLabels(
  labels: JsonValue | undefined,
  corrections: Corrections,
): Record<string, string> | undefined {
  if (labels === undefined || labels === null) return undefined;
  if (!isObject(labels)) {
    corrections.report('dialect/catalog-labels', 'labels is not a mapping', ['metadata', 'labels']);
    return undefined;
  }
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(labels)) {
    if (typeof value === 'string') result[name] = value;
    else {
      const path = ['metadata', 'labels', name];
      corrections.report(
        'dialect/catalog-labels',
        `the label ${shorten(name)} is not a string`,
        path,
        'value',
      );
    }
  }
  return result;
}

function readEntries(spec: JsonObject, file: string, corrections: Corrections): Draft[] {
  const { krmFunctions } = spec;
  const path = ['spec', 'krmFunctions'];
  if (!Array.isArray(krmFunctions)) {
    const what = krmFunctions === undefined ? 'is missing' : 'is not a list';
    corrections.report('dialect/catalog-functions', `spec.krmFunctions ${what}`, path);
    return [];
  }
  return krmFunctions.flatMap((entry, index) => {
    if (isObject(entry)) return [readDefinition(entry, [...path, index], file, corrections)];
    corrections.report('dialect/catalog-functions', 'this entry is not a mapping', [...path, index]);
    return [];
  });
}

function checkFields(
  value: JsonObject,
  known: readonly string[],
  at: string[],
  corrections: Corrections,
): void {
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    corrections.report('dialect/unknown-field', `unknown field ${shorten(name)}`, [...at, name]);
  }
}
