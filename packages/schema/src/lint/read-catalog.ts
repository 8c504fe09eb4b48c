import { readMachineYaml } from '@krmhub/yaml/read/read-machine-yaml';
import type { EntryDefaults } from '../convert/complete.js';
import { completeDraft } from '../convert/complete-draft.js';
import { defined } from '../defined.js';
import { type Diagnostic, hasErrors } from '../diagnostics/diagnostic.js';
import type { Draft } from '../dialects/draft.js';
import { readDialect } from '../dialects/read-dialect.js';
import { detectFormat } from '../dialects/recognize.js';
import type { FunctionDefinition, JsonValue } from '../documents/definition.js';
import { objectField, textField } from '../json/access.js';
import { names } from './names.js';
import { type Rule, runRules } from './rule.js';
import { runtimes } from './runtimes.js';
import { shape } from './shape.js';
import { text } from './text.js';

/** An entry of a generated catalog: its definition, or its first error. */
export type CatalogEntry =
  | {
      definition: FunctionDefinition;
      /** The names of completed and omitted fields. Absent if there are none. */
      completed?: string[];
    }
  | { problem: string; group?: string; kind?: string };

/**
 * The rules that make an entry invalid. Warnings about schemas and links are for authors, and readers of a catalog
 * cannot fix them.
 */
const RULES: readonly Rule[] = [shape, names, runtimes, text];

export interface ReadCatalogOptions {
  /** Values for missing fields of entries. */
  defaults?: EntryDefaults;
  /** A catalog with more entries is rejected before its entries are read. */
  maxEntries?: number;
}

/**
 * Reads an upstream catalog in any dialect. It is several times faster than `lint` but has no positions, and an invalid
 * entry does not affect others. With defaults, it completes entries. Never throws for the content; `problem` is the
 * reason if there is no catalog.
 */
export function readCatalog(
  bytes: Uint8Array,
  file: string,
  { defaults, maxEntries = Number.POSITIVE_INFINITY }: ReadCatalogOptions = {},
): { entries: CatalogEntry[] } | { problem: string } {
  const { documents, diagnostics } = readMachineYaml(bytes, { file });
  const unreadable = firstError(diagnostics);
  if (unreadable !== undefined) return { problem: unreadable };
  const [value] = documents;
  if (value === undefined || documents.length > 1)
    return { problem: `it contains ${documents.length} documents, expected one${wayOut(value)}` };
  const krmFunctions = objectField(value, 'spec')?.krmFunctions;
  if (Array.isArray(krmFunctions) && krmFunctions.length > maxEntries)
    return { problem: `it has ${krmFunctions.length} entries; the limit is ${maxEntries}` };
  const dialect = readDialect({ value, index: 0, locate: () => undefined }, file);
  const { kind, drafts } = dialect;
  if (kind === undefined)
    return { problem: `${firstError(dialect.diagnostics) ?? 'it is not a catalog'}${wayOut(value)}` };
  if (kind === 'KRMFunctionDefinition') return { problem: 'it is a single KRMFunctionDefinition' };
  if (!Array.isArray(krmFunctions)) {
    // The name of a catalog is not required here.
    const ofSpec = dialect.diagnostics.filter(({ path }) => path.startsWith('spec'));
    return { problem: firstError(ofSpec) ?? 'spec.krmFunctions is not a list' };
  }
  return { entries: toEntries(krmFunctions, drafts, errorsByEntry(dialect.diagnostics), defaults) };
}

/** Returns the `format` for a document that can be converted. */
function wayOut(value: JsonValue | undefined): string {
  const format = value === undefined ? undefined : detectFormat(value);
  return format === undefined ? '' : `; set \`format: ${format}\` in the recipe`;
}

/** An entry that is not a mapping has no draft. */
function toEntries(
  krmFunctions: readonly JsonValue[],
  drafts: readonly Draft[],
  errors: ReadonlyMap<number, string>,
  defaults: EntryDefaults | undefined,
): CatalogEntry[] {
  let next = 0;
  return krmFunctions.map((authored, index) => {
    const isMapping = typeof authored === 'object' && authored !== null && !Array.isArray(authored);
    if (!isMapping) return { problem: 'it is not a mapping' };
    const given = drafts[next++]!;
    const { draft, fields: completed } =
      defaults === undefined ? { draft: given, fields: [] } : completeDraft(given, defaults);
    const entry = checkEntry(draft, errors.get(index));
    return 'problem' in entry || completed.length === 0 ? entry : { ...entry, completed };
  });
}

/** Returns the definition of a draft, or its first error. `known` is an error that was already found. */
export function checkEntry(draft: Draft, known?: string): CatalogEntry {
  const problem = known ?? firstError(runRules(RULES, draft, 'registry'));
  if (problem === undefined) return { definition: draft.spec as unknown as FunctionDefinition };
  const group = textField(draft.spec, 'group');
  const name = textField(objectField(draft.spec, 'names'), 'kind');
  return {
    problem,
    ...defined({ group: group?.slice(0, MAX_NAME_LENGTH), kind: name?.slice(0, MAX_NAME_LENGTH) }),
  };
}

/** Maximum length of an invalid name in reports, in UTF-16 code units. */
const MAX_NAME_LENGTH = 253;
const ENTRY_PATH = /^spec\.krmFunctions\[(\d+)\]/;

/** Returns the errors of the dialect reader by index of the entry. */
function errorsByEntry(diagnostics: readonly Diagnostic[]): Map<number, string> {
  const errors = new Map<number, string>();
  for (const diagnostic of diagnostics) {
    const entry = ENTRY_PATH.exec(diagnostic.path)?.[1];
    if (diagnostic.severity !== 'error' || entry === undefined || errors.has(Number(entry))) continue;
    errors.set(Number(entry), formatError(diagnostic));
  }
  return errors;
}

function firstError(diagnostics: readonly Diagnostic[]): string | undefined {
  if (!hasErrors(diagnostics)) return undefined;
  const error = diagnostics.find(({ severity }) => severity === 'error');
  return error && formatError(error);
}

function formatError({ path, message }: Diagnostic): string {
  return path === '' ? message : `${path}: ${message}`;
}
