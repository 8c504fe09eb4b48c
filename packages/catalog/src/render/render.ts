/**
 * The bytes of catalogs and definitions, and the snippets that use a function in kustomize and kpt.
 *
 * The same definitions always give the same bytes.
 *
 * @module
 */

import type {
  CatalogKind,
  FunctionDefinition,
  FunctionRuntime,
  FunctionVersion,
  JsonObject,
  JsonValue,
  SnapshotRendition,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KRM_API_VERSION } from '@krmhub/schema/definition';
import { sha256 } from '@krmhub/schema/digest';
import type { RenderedEntry } from '../ports/records.js';
import { mapRuntime } from '../runtimes/runtimes.js';
import { toYaml, toYamlItem } from './to-yaml.js';

/** Indentation of an entry of `spec.krmFunctions`. */
export const ENTRY_INDENT = 2;

const RENDITIONS = {
  'catalog.yaml': { kind: 'Catalog', syntax: 'yaml' },
  'catalog.json': { kind: 'Catalog', syntax: 'json' },
  'krmfunctioncatalog.yaml': { kind: 'KRMFunctionCatalog', syntax: 'yaml' },
  'krmfunctioncatalog.json': { kind: 'KRMFunctionCatalog', syntax: 'json' },
} as const satisfies Record<SnapshotRendition, { kind: CatalogKind; syntax: 'yaml' | 'json' }>;

export interface CatalogHeader {
  name: string;
  labels?: Record<string, string>;
}

/** Renders an entry. Throws a TypeError for strings that cannot be written (`isWritable`). */
export function renderEntry(definition: FunctionDefinition): RenderedEntry {
  const entry = orderDefinition(definition);
  const yaml = toYamlItem(entry, ENTRY_INDENT);
  return { digest: sha256(yaml), yaml, json: JSON.stringify(entry) };
}

/** Returns the length of an entry as YAML, in UTF-16 code units. */
export function entryLength(definition: FunctionDefinition): number {
  return toYamlItem(orderDefinition(definition), ENTRY_INDENT).length;
}

/** Reports whether this is the entry of a definition, ten times faster than rendering it. */
export function hasRendering(definition: FunctionDefinition, { json }: RenderedEntry): boolean {
  return JSON.stringify(orderDefinition(definition)) === json;
}

/** Renders a KRMFunctionDefinition document. */
export function renderDefinition(definition: FunctionDefinition): string {
  return toYaml({
    apiVersion: KRM_API_VERSION,
    kind: 'KRMFunctionDefinition',
    spec: orderDefinition(definition),
  });
}

/**
 * Renders a catalog document in pieces, one per entry. Their concatenation is the document. The entries must be in the
 * order of `compareFunctionNames`, and are read one at a time.
 */
export function* renderCatalog(
  form: SnapshotRendition,
  header: CatalogHeader,
  entries: Iterable<RenderedEntry>,
): Generator<string, void, undefined> {
  const pieces = catalogPieces(form, header);
  for (const entry of entries) yield pieces.entry(entry);
  const end = pieces.end();
  if (end !== '') yield end;
}

/** Renders the same for a stream of entries. Call `end` after the last one. */
export function catalogPieces(
  form: SnapshotRendition,
  { name, labels }: CatalogHeader,
): { entry(entry: Pick<RenderedEntry, 'yaml' | 'json'>): string; end(): string } {
  const { kind, syntax } = RENDITIONS[form];
  const metadata = { name, ...defined({ labels }) };
  const head = { apiVersion: KRM_API_VERSION, kind, metadata };
  let empty = true;
  if (syntax === 'yaml') {
    return {
      entry({ yaml }) {
        const before = empty ? `${toYaml(head)}spec:\n${' '.repeat(ENTRY_INDENT)}krmFunctions:\n` : '';
        empty = false;
        return before + yaml;
      },
      end: () => (empty ? toYaml({ ...head, spec: { krmFunctions: [] } }) : ''),
    };
  }
  const start = `${JSON.stringify(head).slice(0, -1)},"spec":{"krmFunctions":[`;
  return {
    entry({ json }) {
      const before = empty ? `${start}\n` : ',\n';
      empty = false;
      return before + json;
    },
    end: () => (empty ? `${start}]}}\n` : '\n]}}\n'),
  };
}

/** The text of a catalog document around its entries. */
export interface CatalogFrame {
  head: string;
  /** Between two entries. */
  between: string;
  end: string;
  /** The whole document of a catalog without entries. */
  empty: string;
}

export function catalogFrame(form: SnapshotRendition, header: CatalogHeader): CatalogFrame {
  const pieces = catalogPieces(form, header);
  const noText = { yaml: '', json: '' };
  return {
    head: pieces.entry(noText),
    between: pieces.entry(noText),
    end: pieces.end(),
    empty: catalogPieces(form, header).end(),
  };
}

/** Returns the definition with its fields in canonical order. Schemas keep their order. */
export function orderDefinition(definition: FunctionDefinition): JsonObject {
  const { group, names, description, publisher, versions, home, maintainers, tags } = definition;
  return withoutUndefined({
    group,
    names: { kind: names.kind },
    description,
    publisher,
    versions: versions.map(orderVersion),
    home,
    maintainers,
    tags,
  });
}

function orderVersion(version: FunctionVersion): JsonObject {
  const { name, schema, idempotent, runtime, usage, examples, license, maintainers, configMap } = version;
  return withoutUndefined({
    name,
    schema: { openAPIV3Schema: schema.openAPIV3Schema },
    idempotent,
    runtime: orderRuntime(runtime),
    usage,
    examples,
    license,
    maintainers,
    configMap,
  });
}

function orderRuntime(runtime: FunctionRuntime): JsonObject {
  return mapRuntime(runtime, (rules, declared) => rules.order(declared));
}

function withoutUndefined(fields: Record<string, JsonValue | undefined>): JsonObject {
  const present: JsonObject = {};
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined) present[name] = value;
  }
  return present;
}
