import {
  compareDiagnostics,
  type Diagnostic,
  hasErrors,
  isGroup,
  isKind,
  type JsonObject,
  type JsonValue,
  type Path,
  RUNTIME_KINDS,
  type RuntimeKind,
  readYaml,
} from '@krmhub/schema';
import { suggest } from '@krmhub/schema/lint/suggest';
import { FieldReader, isMapping } from './document-fields.js';
import {
  RECIPE_API_VERSION,
  RECIPE_KIND,
  RECIPE_LIMITS,
  type Recipe,
  type RecipeSource,
  type Selector,
} from './recipe.js';
import { RECIPE_CODES, type RecipeCode } from './recipe-codes.js';
import { readReleaseRange } from './release-range.js';

type RecipeFields = FieldReader<'recipe', typeof RECIPE_CODES>;

export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Kubernetes, "Labels and Selectors: Syntax and character set". */
const LABEL_NAME = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const SELECTOR_FIELDS = ['group', 'kind', 'tags', 'publisher', 'runtime', 'license'] as const;

/**
 * Reads a CatalogRecipe, YAML or JSON, and finds everything that is wrong with it. The recipe is there
 * where nothing is. Nothing of a recipe is ignored: what this version does not do is an error.
 */
export function readRecipe(bytes: Uint8Array, file: string): { recipe?: Recipe; diagnostics: Diagnostic[] } {
  const { maxBytes } = RECIPE_LIMITS;
  if (bytes.byteLength > maxBytes) {
    const message = `the recipe has ${bytes.byteLength} bytes, and at most ${maxBytes} are taken`;
    return { diagnostics: [ofFile('recipe/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const message = `the file holds ${documents.length === 0 ? 'no document' : `${documents.length} documents`}`;
    return { diagnostics: [...diagnostics, ofFile('recipe/document', file, message)] };
  }
  const fields: RecipeFields = new FieldReader(document, file, {
    prefix: 'recipe',
    codes: RECIPE_CODES,
    maxTextLength: RECIPE_LIMITS.maxValueLength,
  });
  const recipe = readDocument(document.value, fields);
  const all = [...diagnostics, ...fields.diagnostics].sort(compareDiagnostics);
  return recipe === undefined || hasErrors(all) ? { diagnostics: all } : { recipe, diagnostics: all };
}

function ofFile(code: RecipeCode, file: string, message: string): Diagnostic {
  const { severity, mend } = RECIPE_CODES[code];
  return { code, severity, message, file, path: '', hint: mend };
}

/** Undefined only where an error is reported; with errors, what is given is not to be used. */
function readDocument(value: JsonValue, fields: RecipeFields): Recipe | undefined {
  // What is something else altogether is not held to the fields of a recipe.
  if (isMapping(value) && typeof value.kind === 'string' && value.kind !== RECIPE_KIND) {
    expectText(value, 'kind', RECIPE_KIND, fields);
    return undefined;
  }
  const root = fields.mapping(value, [], { required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  expectText(root, 'apiVersion', RECIPE_API_VERSION, fields);
  expectText(root, 'kind', RECIPE_KIND, fields);
  const metadata = readMetadata(root.metadata, fields);
  const sources = readSources(root.spec, fields);
  if (metadata === undefined || sources === undefined) return undefined;
  return { ...metadata, sources };
}

function expectText(root: JsonObject, name: string, wanted: string, fields: RecipeFields): void {
  const value = root[name];
  if (value === undefined || value === wanted) return;
  fields.report('recipe/document', [name], `\`${name}\` is not \`${wanted}\``);
}

function readMetadata(
  value: JsonValue | undefined,
  fields: RecipeFields,
): Omit<Recipe, 'sources'> | undefined {
  if (value === undefined) return undefined;
  const at: Path = ['metadata'];
  const metadata = fields.mapping(value, at, { required: ['name'], optional: ['labels'] });
  if (metadata === undefined || metadata.name === undefined) return undefined;
  const name = readName(metadata.name, [...at, 'name'], fields);
  const labels =
    metadata.labels === undefined ? undefined : readLabels(metadata.labels, [...at, 'labels'], fields);
  return name === undefined ? undefined : { name, ...(labels === undefined ? {} : { labels }) };
}

function readName(value: JsonValue | undefined, at: Path, fields: RecipeFields): string | undefined {
  const name = fields.text(value, at);
  if (name !== undefined && !DNS_LABEL.test(name))
    fields.report('recipe/name', at, `"${name}" is no DNS label`);
  return name;
}

function readLabels(value: JsonValue, at: Path, fields: RecipeFields): Record<string, string> | undefined {
  const names =
    value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : [];
  const labels = fields.mapping(value, at, { optional: names });
  if (labels === undefined) return undefined;
  if (names.length > RECIPE_LIMITS.maxLabels) {
    fields.report(
      'recipe/limit',
      at,
      `there are ${names.length} labels, and at most ${RECIPE_LIMITS.maxLabels} are taken`,
    );
  }
  return Object.fromEntries(
    Object.entries(labels).map(([name, label]) => {
      if (!LABEL_NAME.test(name))
        fields.report('recipe/label', [...at, name], 'this is no name of a label', { target: 'key' });
      if (typeof label !== 'string') {
        fields.report('recipe/label', [...at, name], 'the value of a label is text: put quotes around it');
      } else if (!LABEL_VALUE.test(label)) {
        fields.report('recipe/label', [...at, name], 'this is no value of a label');
      }
      return [name, String(label)];
    }),
  );
}

function readSources(value: JsonValue | undefined, fields: RecipeFields): RecipeSource[] | undefined {
  if (value === undefined) return undefined;
  const spec = fields.mapping(value, ['spec'], { required: ['sources'], unsupported: ['policy'] });
  if (spec === undefined || spec.sources === undefined) return undefined;
  const at: Path = ['spec', 'sources'];
  const list = fields.list(spec.sources, at, RECIPE_LIMITS.maxSources);
  if (list === undefined) return undefined;
  if (list.length === 0) fields.report('recipe/missing-field', at, 'a recipe has at least one source');
  const sources: RecipeSource[] = [];
  const names = new Set<string>();
  for (const [index, item] of list.entries()) {
    const source = readSource(item, [...at, index], fields);
    if (source === undefined) continue;
    if (names.has(source.name)) {
      fields.report(
        'recipe/duplicate-source',
        [...at, index, 'name'],
        `another source is named "${source.name}" too`,
      );
    }
    names.add(source.name);
    sources.push(source);
  }
  return sources;
}

function readSource(value: JsonValue, at: Path, fields: RecipeFields): RecipeSource | undefined {
  // A source with a catalog needs no functions: that it is not supported says all.
  const elsewhere = value !== null && typeof value === 'object' && Object.hasOwn(value, 'catalog');
  const source = fields.mapping(value, at, {
    required: elsewhere ? ['name'] : ['name', 'functions'],
    optional: elsewhere ? ['functions', 'match', 'exclude'] : ['match', 'exclude'],
    unsupported: ['catalog', 'rewrite'],
  });
  if (source === undefined) return undefined;
  const name = source.name === undefined ? undefined : readName(source.name, [...at, 'name'], fields);
  const release = readFunctions(source.functions, [...at, 'functions'], fields);
  const match = readSelectors(source.match, [...at, 'match'], fields);
  const exclude = readSelectors(source.exclude, [...at, 'exclude'], fields);
  if (name === undefined) return undefined;
  return {
    name,
    ...(release === undefined ? {} : { release }),
    ...(match === undefined ? {} : { match }),
    exclude: exclude ?? [],
  };
}

function readFunctions(value: JsonValue | undefined, at: Path, fields: RecipeFields): string | undefined {
  if (value === undefined) return undefined;
  const functions = fields.mapping(value, at, { optional: ['release'] });
  if (functions?.release === undefined) return undefined;
  const written = fields.text(functions.release, [...at, 'release']);
  if (written === undefined) return undefined;
  const range = readReleaseRange(written);
  if (range.ok) return range.range;
  fields.report(
    'recipe/release-range',
    [...at, 'release'],
    range.reason,
    range.hint === undefined ? {} : { hint: range.hint },
  );
  return undefined;
}

function readSelectors(value: JsonValue | undefined, at: Path, fields: RecipeFields): Selector[] | undefined {
  if (value === undefined) return undefined;
  const list = fields.list(value, at, RECIPE_LIMITS.maxSelectors);
  if (list?.length === 0) fields.report('recipe/empty-selector', at, 'the list of selectors is empty');
  return list?.map((item, index) => readSelector(item, [...at, index], fields));
}

function readSelector(value: JsonValue, at: Path, fields: RecipeFields): Selector {
  const selector = fields.mapping(value, at, { optional: SELECTOR_FIELDS });
  if (selector === undefined) return {};
  if (Object.keys(selector).length === 0)
    fields.report('recipe/empty-selector', at, 'the selector is empty and matches nothing');
  const read: Selector = {};
  for (const name of SELECTOR_FIELDS) {
    const field = selector[name];
    if (field === undefined) continue;
    const path = [...at, name];
    if (name === 'tags') {
      read.tags = readTags(field, path, fields);
      continue;
    }
    const text = fields.text(field, path);
    if (text === undefined) continue;
    if (name === 'runtime') read.runtime = readRuntime(text, path, fields);
    else read[name] = text;
    if (name === 'group' && !isGroup(text))
      fields.report('recipe/selector-value', path, `"${text}" is no group`);
    if (name === 'kind' && !isKind(text))
      fields.report('recipe/selector-value', path, `"${text}" is no kind`);
  }
  return read;
}

function readTags(value: JsonValue, at: Path, fields: RecipeFields): string[] {
  const list = fields.list(value, at, RECIPE_LIMITS.maxTags);
  if (list?.length === 0) fields.report('recipe/empty-selector', at, 'the list of tags is empty');
  return (list ?? []).flatMap((item, index) => fields.text(item, [...at, index]) ?? []);
}

function readRuntime(text: string, at: Path, fields: RecipeFields): RuntimeKind {
  const runtime = RUNTIME_KINDS.find((kind) => kind === text);
  if (runtime !== undefined) return runtime;
  const meant = suggest(text, RUNTIME_KINDS);
  const hint =
    meant === undefined ? `Runtimes are ${RUNTIME_KINDS.join(', ')}.` : `Did you mean \`${meant}\`?`;
  fields.report('recipe/selector-value', at, `"${text}" is no runtime`, { hint });
  return RUNTIME_KINDS[0];
}
