import { type Diagnostic, DOCUMENT_LIMITS, hasErrors, readYaml } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { limitDiagnostics } from '@krmhub/schema/lint/findings';
import { FieldReader, fileDiagnostic } from '../fields/field.js';
import type { PolicyCode } from '../policy/codes.js';
import { policyFields, withoutDateWarnings } from '../policy/fields.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import { RECIPE_CODES, type RecipeField } from './codes.js';
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
    return { diagnostics: [fileDiagnostic(RECIPE_CODES, 'recipe/limit', file, message)] };
  }
  const { documents, diagnostics } = readYaml(bytes, { file });
  if (hasErrors(diagnostics)) return { diagnostics };
  const [document] = documents;
  if (document === undefined || documents.length > 1) {
    const message = `the file contains ${documents.length === 0 ? 'no document' : `${documents.length} documents`}`;
    return { diagnostics: [...diagnostics, fileDiagnostic(RECIPE_CODES, 'recipe/document', file, message)] };
  }
  const reader = new FieldReader(document, file, 'recipe', RECIPE_CODES, RECIPE_LIMITS.maxValueLength);
  const signing = policyFields(document, file);
  const recipe = readDocument(reader.root, signing);
  const all = [...withoutDateWarnings(diagnostics), ...reader.diagnostics, ...signing.diagnostics];
  const shown = limitDiagnostics(all, DOCUMENT_LIMITS.maxDiagnostics, file);
  return recipe === undefined || hasErrors(all) ? { diagnostics: shown } : { recipe, diagnostics: shown };
}

/** Returns undefined only with an error. With errors, the result must not be used. */
function readDocument(document: RecipeField, signing: FieldReader<PolicyCode>): Recipe | undefined {
  // Other documents are not checked for the fields of a recipe.
  const kind = document.get('kind');
  if (typeof kind?.value === 'string' && kind.value !== RECIPE_KIND) {
    expectText(document, 'kind', RECIPE_KIND);
    return undefined;
  }
  const root = document.mapping({ required: ['apiVersion', 'kind', 'metadata', 'spec'] });
  if (root === undefined) return undefined;
  expectText(root, 'apiVersion', RECIPE_API_VERSION);
  expectText(root, 'kind', RECIPE_KIND);
  const metadata = readMetadata(root.get('metadata'));
  const spec = readSpec(root.get('spec'), signing);
  return metadata === undefined || spec === undefined ? undefined : { ...metadata, ...spec };
}

function expectText(root: RecipeField, name: string, wanted: string): void {
  const field = root.get(name);
  if (field === undefined || field.value === wanted) return;
  field.report('recipe/document', `\`${name}\` is not \`${wanted}\``);
}

function readMetadata(field: RecipeField | undefined): Pick<Recipe, 'name' | 'labels'> | undefined {
  const metadata = field?.mapping({ required: ['name'], optional: ['labels'] });
  if (metadata?.get('name') === undefined) return undefined;
  const name = readName(metadata.get('name'));
  const labels = readLabels(metadata.get('labels'));
  return name === undefined ? undefined : { name, ...defined({ labels }) };
}

function readLabels(field: RecipeField | undefined): Record<string, string> | undefined {
  const labels = field?.entries();
  if (labels === undefined) return undefined;
  const { maxLabels } = RECIPE_LIMITS;
  if (labels.length > maxLabels) {
    field?.report('recipe/limit', `there are ${labels.length} labels; the limit is ${maxLabels}`);
  }
  return Object.fromEntries(
    labels.map(([name, label]) => {
      if (!LABEL_NAME.test(name)) label.report('recipe/label', 'not a valid label name', { target: 'key' });
      if (typeof label.value !== 'string') {
        label.report('recipe/label', 'a label value must be a string');
      } else if (!LABEL_VALUE.test(label.value)) {
        label.report('recipe/label', 'not a valid label value');
      }
      return [name, String(label.value)];
    }),
  );
}

function readSpec(
  field: RecipeField | undefined,
  signing: FieldReader<PolicyCode>,
): Pick<Recipe, 'description' | 'sources' | 'policy'> | undefined {
  const spec = field?.mapping({ required: ['sources'], optional: ['description', 'policy'] });
  if (spec === undefined) return undefined;
  const description = spec.get('description')?.text(RECIPE_LIMITS.maxDescriptionLength);
  const policy = readRecipePolicy(spec.get('policy'), signing);
  const sources = readSources(spec.get('sources'), policy?.requireSignature ?? []);
  return sources && { sources, ...defined({ description, policy }) };
}

function readSources(
  field: RecipeField | undefined,
  policies: readonly SigningPolicy[],
): RecipeSource[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxSources);
  if (list?.length === 0) field?.report('recipe/missing-field', 'a recipe must have at least one source');
  const names = new Set<string>();
  return list?.flatMap((item) => {
    const source = readSource(item, policies);
    if (source === undefined) return [];
    const { name } = source;
    if (names.has(name)) {
      item.get('name')?.report('recipe/duplicate-source', `another source is already named "${name}"`);
    }
    names.add(name);
    return source;
  });
}
