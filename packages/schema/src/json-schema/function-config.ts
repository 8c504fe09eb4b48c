/**
 * JSON Schemas of documents and functionConfigs, and validation as in Kubernetes.
 *
 * @module
 */

import { KrmhubError } from '../diagnostics/error.js';
import type { DefinitionName, FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import {
  isKeywordValue,
  isSet,
  JUNCTORS,
  keyword,
  OPEN_API_TYPES,
  PROTOTYPE_NAMES,
  requiredProperties,
  schemaProperties,
  schemaProperty,
  schemaType,
  subschema,
} from './open-api.js';

/** Formats with the same meaning in draft-07 and Kubernetes. `duration` and others differ. */
const FORMATS = new Set(['date', 'date-time', 'email', 'hostname', 'ipv4', 'ipv6', 'uri']);
const COPIED = [
  'title',
  'description',
  'default',
  'maxLength',
  'minLength',
  'maxItems',
  'minItems',
  'maxProperties',
  'minProperties',
] as const;
/** Maximum depth: definitions have at most 64 levels. */
const MAX_DEPTH = 64;

/**
 * Returns the JSON Schema (draft-07) of a functionConfig, for editors and validators. Throws a `not-found` KrmhubError
 * for an unknown API version.
 */
export function functionConfigSchema(definition: FunctionDefinition, versionName: string): JsonObject {
  const version = versionNamed(definition, versionName);
  const source = version.schema.openAPIV3Schema;
  // A functionConfig is never null, even if its schema allows it.
  const schema = toJsonSchema({ ...source, nullable: false });
  const { apiVersion, kind, metadata, ...properties } = (schema.properties as JsonObject | undefined) ?? {};
  const required = (schema.required as string[] | undefined) ?? [];
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `${definition.names.kind} (${definition.group}/${versionName})`,
    description: definition.description,
    ...schema,
    type: 'object',
    required: ['apiVersion', 'kind', ...required.filter((name) => name !== 'apiVersion' && name !== 'kind')],
    properties: {
      apiVersion: { ...describedAs(apiVersion), const: `${definition.group}/${versionName}` },
      kind: { ...describedAs(kind), const: definition.names.kind },
      // Any metadata is allowed: a schema can only restrict it.
      metadata: metadata === undefined ? { type: 'object' } : openObject(metadata),
      ...properties,
    },
  };
}

/** Returns the API version with this name. Throws a `not-found` KrmhubError if it does not exist. */
export function versionNamed<Version extends { name: string }>(
  definition: DefinitionName & { versions: readonly Version[] },
  versionName: string,
): Version {
  const version = definition.versions.find(({ name }) => name === versionName);
  if (version !== undefined) return version;
  throw new KrmhubError(
    'not-found',
    `${definition.group}/${definition.names.kind} has no version ${versionName}`,
    { hint: `It has ${definition.versions.map(({ name }) => name).join(', ')}.` },
  );
}

function describedAs(schema: JsonValue | undefined): JsonObject {
  const description = (schema as JsonObject | undefined)?.description;
  return description === undefined ? {} : { description };
}

function openObject(schema: JsonValue): JsonObject {
  const { additionalProperties, ...rest } = schema as JsonObject;
  return additionalProperties === false ? rest : (schema as JsonObject);
}

/**
 * Converts a Kubernetes OpenAPI v3 schema to JSON Schema draft-07. It omits everything that Kubernetes ignores or
 * forbids, so the result is always a valid schema.
 */
export function toJsonSchema(schema: JsonObject, keeps: KeepsPattern = isEcmaPattern): JsonObject {
  return convert(schema, true, 0, keeps);
}

/** Decides whether a pattern is kept. A validator rejects a schema with a pattern that it cannot compile. */
type KeepsPattern = (pattern: string) => boolean;

/** Reports whether a pattern is valid in ECMA-262, as draft-07 requires. Some RE2 patterns such as `(?i)` are not. */
function isEcmaPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

/** `structural` is false inside allOf, anyOf, oneOf, and not, where objects are never closed. */
function convert(schema: JsonObject, structural: boolean, depth: number, keeps: KeepsPattern): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const result: JsonObject = {};
  for (const name of COPIED) {
    const value = keyword(schema, name);
    if (value !== undefined) result[name] = value;
  }
  const example = keyword(schema, 'example');
  if (example !== undefined) result.examples = [example];
  const pattern = keyword(schema, 'pattern');
  if (typeof pattern === 'string' && keeps(pattern)) result.pattern = pattern;
  const format = keyword(schema, 'format');
  if (typeof format === 'string' && FORMATS.has(format)) result.format = format;
  convertType(schema, result);
  convertBounds(schema, result);
  convertFields(schema, result, structural, depth, keeps);
  convertJunctors(schema, result, depth, keeps);
  return isSet(schema, 'nullable') ? orNull(result) : result;
}

function convertType(schema: JsonObject, result: JsonObject): void {
  const type = schemaType(schema);
  if (isSet(schema, 'x-kubernetes-int-or-string')) result.type = ['integer', 'string'];
  else if (type !== undefined && (OPEN_API_TYPES as readonly string[]).includes(type)) result.type = type;
  const values = keyword(schema, 'enum') as JsonValue[] | undefined;
  if (values !== undefined && values.length > 0) result.enum = unique(values);
}

/** Converts `exclusiveMinimum: true` with `minimum: 1` to `exclusiveMinimum: 1`. */
function convertBounds(schema: JsonObject, result: JsonObject): void {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const value = keyword(schema, bound);
    if (value !== undefined) result[isSet(schema, exclusive) ? exclusive : bound] = value;
  }
  const step = keyword(schema, 'multipleOf');
  if (typeof step === 'number' && step > 0) result.multipleOf = step;
}

function convertFields(
  schema: JsonObject,
  result: JsonObject,
  structural: boolean,
  depth: number,
  keeps: KeepsPattern,
): void {
  const properties = schemaProperties(schema);
  const names = Object.keys(properties).filter((name) => !PROTOTYPE_NAMES.has(name));
  if (names.length > 0) {
    const converted: JsonObject = {};
    for (const name of names) {
      const property = schemaProperty(schema, name);
      converted[name] = property === undefined ? {} : convert(property, structural, depth + 1, keeps);
    }
    result.properties = converted;
  }
  // Authors can omit a field with a default.
  const required = unique(requiredProperties(schema)).filter(
    (name) => keyword(schemaProperty(schema, name) ?? {}, 'default') === undefined,
  );
  if (required.length > 0) result.required = required;
  const items = subschema(schema, 'items');
  if (items !== undefined) result.items = convert(items, structural, depth + 1, keeps);
  const values = keyword(schema, 'additionalProperties');
  if (typeof values === 'boolean') result.additionalProperties = values;
  else if (values !== undefined) {
    result.additionalProperties = convert(values as JsonObject, structural, depth + 1, keeps);
  } else if (structural && names.length > 0 && !isOpen(schema)) result.additionalProperties = false;
}

function isOpen(schema: JsonObject): boolean {
  return (
    isSet(schema, 'x-kubernetes-preserve-unknown-fields') || isSet(schema, 'x-kubernetes-embedded-resource')
  );
}

function convertJunctors(schema: JsonObject, result: JsonObject, depth: number, keeps: KeepsPattern): void {
  for (const name of JUNCTORS) {
    const branches = (keyword(schema, name) as JsonValue[] | undefined) ?? [];
    const converted = branches
      .filter((branch) => isKeywordValue(branch, 'schema'))
      .map((branch) => convert(branch as JsonObject, false, depth + 1, keeps));
    if (converted.length > 0) result[name] = converted;
  }
  const negated = subschema(schema, 'not');
  if (negated !== undefined) result.not = convert(negated, false, depth + 1, keeps);
}

/**
 * Allows null as an alternative to the whole schema, because `type: [T, "null"]` would be wrong next to oneOf or enum.
 */
function orNull(schema: JsonObject): JsonObject {
  const { title, description, default: fallback, examples, ...rest } = schema;
  const annotations = { title, description, default: fallback, examples };
  const present = Object.entries(annotations).filter(
    (entry): entry is [string, JsonValue] => entry[1] !== undefined,
  );
  return { ...Object.fromEntries(present), anyOf: [{ type: 'null' }, rest] };
}

function unique<Value extends JsonValue>(values: readonly Value[]): Value[] {
  const seen = new Set<string>();
  return values.filter((value) => {
    const key = JSON.stringify(value);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
