import { RELEASE_ANNOTATION } from '@krmhub/catalog/settings/settings';
import { RUNTIME_ANNOTATIONS } from '@krmhub/functions/plan/declared-runtime';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { type Diagnostic, formatPath, type Path, type Position, type Range } from '@krmhub/schema/diagnostic';
import { field } from '@krmhub/schema/json/access';
import { readYaml, VALUE_CODES, type YamlDocument } from '@krmhub/yaml';
import { LAYER_LIMITS } from './limits.js';

/** For kustomize, a name such as `yes` or `0123` is text. */
const NAME_PATH = /(?:^|\.)metadata\.name$/;

export interface ReadDocuments {
  documents: YamlDocument[];
  /** Errors only, and only those that could hide a function. */
  problems: Diagnostic[];
}

/** Reads the documents of a file; `isRead` reports whether the value at the path of a problem decides what runs. */
export function readDocuments(
  bytes: Uint8Array,
  file: string,
  isRead: (path: string) => boolean,
): ReadDocuments {
  const limits = { maxAliases: LAYER_LIMITS.maxConfigAliases };
  const { documents, diagnostics } = readYaml(bytes, { file, limits });
  const problems = diagnostics.filter(
    ({ code, severity, path }) =>
      severity === 'error' &&
      code !== 'yaml/empty' &&
      !(code === 'yaml/ambiguous-scalar' && NAME_PATH.test(path)) &&
      // A manifest may have these where nothing is read for functions: kustomize accepts `mode: 0644`.
      (!VALUE_CODES.has(code) || isRead(path)),
  );
  return { documents, problems };
}

/** What of a functionConfig says which function runs. */
const READ_PATHS = [
  'apiVersion',
  'kind',
  'items',
  'runtime',
  'metadata.name',
  'metadata.configFn',
  ...[...RUNTIME_ANNOTATIONS, RELEASE_ANNOTATION].map((name) =>
    formatPath(['metadata', 'annotations', name]),
  ),
];
/** Mappings in which a merge key could add one of these. */
const READ_MAPPINGS = ['', 'metadata', 'metadata.annotations'];

/** Reports whether a problem at this path of a functionConfig could hide a function or its runtime. */
export function isReadOfConfig(path: string): boolean {
  const own = path.replace(/^(?:items\[\d+\]\.?)+/, '');
  if (READ_MAPPINGS.includes(own.replace(/\["<<"\]$/, ''))) return true;
  return READ_PATHS.some((one) => own === one || own.startsWith(`${one}.`) || own.startsWith(`${one}[`));
}

/** A document, or an item of one that is a List. */
export interface ConfigValue {
  value: JsonValue;
  path: Path;
}

/**
 * The resources of a document as kustomize has them: a kind that ends in `List` and has `items` is replaced by its
 * items (kustomize, `inlineAnyEmbeddedLists`).
 */
export function configValues({ value }: YamlDocument): ConfigValue[] {
  return expand({ value, path: [] });
}

function expand({ value, path }: ConfigValue): ConfigValue[] {
  const kind = field(value, 'kind');
  const items = field(value, 'items');
  if (typeof kind !== 'string' || !kind.endsWith('List') || items === undefined) return [{ value, path }];
  if (!Array.isArray(items)) return items === null ? [] : [{ value, path }];
  return items.flatMap((item, index) => expand({ value: item, path: [...path, 'items', index] }));
}

/** Reports whether kustomize itself runs it (kustomize, `isBuiltinPlugin`). */
export function isBuiltin(config: JsonObject): boolean {
  return config.apiVersion === 'builtin' || config.apiVersion === '/builtin';
}

/** Text of a kustomization that may be a functionConfig instead of a path. */
export interface InlineText {
  text: string;
  /** Of the value in its file, as it is written there. */
  range: Range;
}

/**
 * Reports whether an entry of a list of functionConfigs is YAML, and not a path: kustomize tries YAML first. No path
 * has several lines.
 */
export function isInlineConfig(text: string): boolean {
  if (text.includes('\n')) return true;
  if (!text.includes(':')) return false;
  const { documents } = readYaml(new TextEncoder().encode(text), { file: '' });
  const names = ({ value }: YamlDocument) => [field(value, 'apiVersion'), field(value, 'kind')];
  return documents.length > 0 && documents.every((one) => !names(one).includes(undefined));
}

/**
 * Returns where a position inside the text of a value is in its file. Only a literal block (`|`) has the text as it is;
 * in other values every position is that of the value.
 */
export function inlinePosition(source: string, { range }: InlineText, at: Position): Position {
  const lines = source.split('\n');
  const header = lines[range.start.line - 1]?.slice(range.start.column - 1) ?? '';
  if (!/^\|[-+0-9]*[ \t]*(?:#.*)?\r?$/.test(header)) return range.start;
  const body = lines.slice(range.start.line);
  const first = body.find((line) => line.trim() !== '') ?? '';
  const explicit = /^\|[-+]?([1-9])/.exec(header)?.[1];
  // With an explicit indentation the first line may begin with spaces of its own.
  if (explicit !== undefined) return range.start;
  const indent = first.length - first.trimStart().length;
  return { line: range.start.line + at.line, column: indent + at.column };
}
