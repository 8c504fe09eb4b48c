import type { JsonObject, JsonValue } from '../documents/definition.js';

/**
 * The keywords of a Kubernetes OpenAPI v3 schema (apiextensions/v1 JSONSchemaProps), with the types of their values.
 */
export const OPEN_API_KEYWORDS = {
  id: 'text',
  $schema: 'text',
  $ref: 'text',
  description: 'text',
  type: 'text',
  format: 'text',
  title: 'text',
  pattern: 'text',
  default: 'any',
  example: 'any',
  maximum: 'number',
  minimum: 'number',
  multipleOf: 'number',
  exclusiveMaximum: 'flag',
  exclusiveMinimum: 'flag',
  maxLength: 'count',
  minLength: 'count',
  maxItems: 'count',
  minItems: 'count',
  maxProperties: 'count',
  minProperties: 'count',
  uniqueItems: 'flag',
  nullable: 'flag',
  enum: 'list',
  required: 'texts',
  items: 'schema',
  not: 'schema',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  properties: 'schemaMap',
  patternProperties: 'schemaMap',
  definitions: 'schemaMap',
  dependencies: 'mapping',
  additionalProperties: 'schemaOrFlag',
  additionalItems: 'schemaOrFlag',
  externalDocs: 'mapping',
  'x-kubernetes-preserve-unknown-fields': 'flag',
  'x-kubernetes-embedded-resource': 'flag',
  'x-kubernetes-int-or-string': 'flag',
  'x-kubernetes-list-map-keys': 'texts',
  'x-kubernetes-list-type': 'text',
  'x-kubernetes-map-type': 'text',
  'x-kubernetes-validations': 'list',
} as const satisfies Record<string, string>;

export type OpenApiKeyword = keyof typeof OPEN_API_KEYWORDS;
export type KeywordValue = (typeof OPEN_API_KEYWORDS)[OpenApiKeyword];

export const OPEN_API_TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'] as const;

export const JUNCTORS = ['allOf', 'anyOf', 'oneOf'] as const;

/** Names that conflict with inherited properties in JavaScript. */
export const PROTOTYPE_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Reports whether a value has the type of a keyword, without a check of nested schemas. */
export function isKeywordValue(value: JsonValue, kind: KeywordValue): boolean {
  const mapping = typeof value === 'object' && value !== null && !Array.isArray(value);
  switch (kind) {
    case 'any':
      return true;
    case 'text':
      return typeof value === 'string';
    case 'flag':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number';
    case 'count':
      return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
    case 'list':
      return Array.isArray(value);
    case 'texts':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'schemas':
      return Array.isArray(value);
    case 'schema':
    case 'schemaMap':
    case 'mapping':
      return mapping;
    case 'schemaOrFlag':
      return mapping || typeof value === 'boolean';
  }
}

/**
 * Returns the value of a keyword if it has the right type. Null means that the keyword is absent, as in Kubernetes.
 */
export function keyword(schema: JsonObject, name: OpenApiKeyword): JsonValue | undefined {
  if (!Object.hasOwn(schema, name)) return undefined;
  const value = schema[name];
  if (value === null || value === undefined) return undefined;
  return isKeywordValue(value, OPEN_API_KEYWORDS[name]) ? value : undefined;
}

/** Returns the schema in a keyword. */
export function subschema(
  schema: JsonObject,
  name: 'items' | 'not' | 'additionalProperties',
): JsonObject | undefined {
  const value = keyword(schema, name);
  return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
}

export function schemaProperties(schema: JsonObject): JsonObject {
  return (keyword(schema, 'properties') as JsonObject | undefined) ?? {};
}

/** Returns the declared property with this name, if it is a schema. */
export function schemaProperty(schema: JsonObject, name: string): JsonObject | undefined {
  const properties = schemaProperties(schema);
  const value = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

export function requiredProperties(schema: JsonObject): string[] {
  return (keyword(schema, 'required') as string[] | undefined) ?? [];
}

export function schemaType(schema: JsonObject): string | undefined {
  return keyword(schema, 'type') as string | undefined;
}

export function isSet(schema: JsonObject, name: OpenApiKeyword): boolean {
  return keyword(schema, name) === true;
}
