import {
  type Diagnostic,
  DOCUMENT_LIMITS,
  hasErrors,
  type JsonObject,
  type JsonValue,
  type Path,
  readYaml,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { limitDiagnostics } from '@krmhub/schema/lint/findings';
import { FieldReader, isMapping } from '../policy/document-fields.js';
import { type PolicyFields, policyFields, withoutDateWarnings } from '../policy/fields.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import { RECIPE_CODES, type RecipeCode } from './codes.js';
import type { RecipeFields } from './fields.js';
import { readRecipePolicy } from './read-policy.js';
import { readName, readSource } from './read-source.js';
import { RECIPE_API_VERSION, RECIPE_KIND, RECIPE_LIMITS, type Recipe, type RecipeSource } from './recipe.js';

/** Kubernetes, "Labels and Selectors: Syntax and character set". */
const LABEL_NAME = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/**
 * Reads a CatalogRecipe in YAML or JSON, and reports every problem. The recipe is undefined if there are errors.
 * Unknown fields are errors. Key files are not read.
 */
export function readRecipe(bytes: Uint8Array, file: string): { recipe?: Recipe; diagnostics: Diagnostic[] } {
  const { maxBytes } = RECIPE_LIMITS;
  if (bytes.byteLength > maxBytes) {
    const message = `the recipe has ${bytes.byteLength} bytes; the limit is ${maxBytes}`;
    return { diagnostics: [fileDiagnostic('recipe/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const message = `the file contains ${documents.length === 0 ? 'no document' : `${documents.length} documents`}`;
    return { diagnostics: [...diagnostics, fileDiagnostic('recipe/document', file, message)] };
  }
  const fields: RecipeFields = new FieldReader(document, file, {
    prefix: 'recipe',
    codes: RECIPE_CODES,
    maxTextLength: RECIPE_LIMITS.maxValueLength,
  });
  const signing = policyFields(document, file);
  const recipe = readDocument(document.value, fields, signing);
  const all = [...withoutDateWarnings(diagnostics), ...fields.diagnostics, ...signing.diagnostics];
  const told = limitDiagnostics(all, DOCUMENT_LIMITS.maxDiagnostics, file);
  return recipe === undefined || hasErrors(all) ? { diagnostics: told } : { recipe, diagnostics: told };
}

function fileDiagnostic(code: RecipeCode, file: string, message: string): Diagnostic {
  const { severity, fix } = RECIPE_CODES[code];
  return { code, severity, message, file, path: '', hint: fix };
}

/** Returns undefined only with an error. With errors, the result must not be used. */
function readDocument(value: JsonValue, fields: RecipeFields, signing: PolicyFields): Recipe | undefined {
  // Other documents are not checked for the fields of a recipe.
  if (isMapping(value) && typeof value.kind === 'string' && value.kind !== RECIPE_KIND) {
    expectText(value, 'kind', RECIPE_KIND, fields);
    return undefined;
  }
  const root = fields.mapping(value, [], { required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  expectText(root, 'apiVersion', RECIPE_API_VERSION, fields);
  expectText(root, 'kind', RECIPE_KIND, fields);
  const metadata = readMetadata(root.metadata, fields);
  const spec = readSpec(root.spec, fields, signing);
  return metadata === undefined || spec === undefined ? undefined : { ...metadata, ...spec };
}

function expectText(root: JsonObject, name: string, wanted: string, fields: RecipeFields): void {
  const value = root[name];
  if (value === undefined || value === wanted) return;
  fields.report('recipe/document', [name], `\`${name}\` is not \`${wanted}\``);
}

function readMetadata(
  value: JsonValue | undefined,
  fields: RecipeFields,
): Pick<Recipe, 'name' | 'labels'> | undefined {
  if (value === undefined) return undefined;
  const at: Path = ['metadata'];
  const metadata = fields.mapping(value, at, { required: ['name'], optional: ['labels'] });
  if (metadata === undefined || metadata.name === undefined) return undefined;
  const name = readName(metadata.name, [...at, 'name'], fields);
  const labels =
    metadata.labels === undefined ? undefined : readLabels(metadata.labels, [...at, 'labels'], fields);
  return name === undefined ? undefined : { name, ...defined({ labels }) };
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
      `there are ${names.length} labels; the limit is ${RECIPE_LIMITS.maxLabels}`,
    );
  }
  return Object.fromEntries(
    Object.entries(labels).map(([name, label]) => {
      if (!LABEL_NAME.test(name))
        fields.report('recipe/label', [...at, name], 'not a valid label name', { target: 'key' });
      if (typeof label !== 'string') {
        fields.report('recipe/label', [...at, name], 'a label value must be a string');
      } else if (!LABEL_VALUE.test(label)) {
        fields.report('recipe/label', [...at, name], 'not a valid label value');
      }
      return [name, String(label)];
    }),
  );
}

function readSpec(
  value: JsonValue | undefined,
  fields: RecipeFields,
  signing: PolicyFields,
): Pick<Recipe, 'sources' | 'policy'> | undefined {
  if (value === undefined) return undefined;
  const spec = fields.mapping(value, ['spec'], { required: ['sources'], optional: ['policy'] });
  if (spec === undefined) return undefined;
  const policy = readRecipePolicy(spec.policy, fields, signing);
  const sources = readSources(spec.sources, fields, policy?.requireSignature ?? []);
  if (sources === undefined) return undefined;
  return { sources, ...defined({ policy }) };
}

function readSources(
  value: JsonValue | undefined,
  fields: RecipeFields,
  policies: readonly SigningPolicy[],
): RecipeSource[] | undefined {
  if (value === undefined) return undefined;
  const at: Path = ['spec', 'sources'];
  const list = fields.list(value, at, RECIPE_LIMITS.maxSources);
  if (list === undefined) return undefined;
  if (list.length === 0) fields.report('recipe/missing-field', at, 'a recipe must have at least one source');
  const sources: RecipeSource[] = [];
  const names = new Set<string>();
  for (const [index, item] of list.entries()) {
    const source = readSource(item, [...at, index], fields, policies);
    if (source === undefined) continue;
    if (names.has(source.name)) {
      fields.report(
        'recipe/duplicate-source',
        [...at, index, 'name'],
        `another source is already named "${source.name}"`,
      );
    }
    names.add(source.name);
    sources.push(source);
  }
  return sources;
}
