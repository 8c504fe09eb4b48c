import type { JsonObject, JsonValue } from '@krmhub/schema';
import {
  isSet,
  keyword,
  PROTOTYPE_NAMES,
  propertiesOf,
  propertyOf,
  requiredOf,
  subschema,
  typeOf,
} from '@krmhub/schema/json-schema/open-api';

/** A field of a functionConfig: `a.b` nested, `a[]` in a list, `a.<key>` in a map. */
export interface ConfigField {
  path: string;
  type: string;
  /** Where the object around it is there. */
  required: boolean;
  description: string;
}

const MAX_FIELDS = 100;
const MAX_DEPTH = 6;
/** Characters of a default or of the values of an enum. */
const MAX_VALUE_LENGTH = 120;
/** What every functionConfig has. */
const COMMON_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** The fields of an OpenAPI v3 schema, those of an object that are required first; `complete` is false where some are left out. */
export function configFields(schema: JsonObject): { fields: ConfigField[]; complete: boolean } {
  const fields: ConfigField[] = [];
  let complete = true;
  const visit = (around: JsonObject, prefix: string, depth: number): void => {
    const required = new Set(requiredOf(around));
    const names = Object.keys(propertiesOf(around)).filter((name) => depth > 0 || !COMMON_FIELDS.has(name));
    names.sort((a, b) => Number(required.has(b)) - Number(required.has(a)));
    for (const name of names) {
      const field = propertyOf(around, name) ?? {};
      const path = prefix === '' ? name : `${prefix}.${name}`;
      if (fields.length >= MAX_FIELDS) {
        complete = false;
        return;
      }
      fields.push({
        path,
        type: typeText(field),
        required: required.has(name),
        description: descriptionOf(field),
      });
      visitInside(field, path, depth + 1);
    }
  };
  const visitInside = (schema: JsonObject, path: string, depth: number): void => {
    if (depth > MAX_DEPTH) {
      complete &&= !hasInside(schema);
      return;
    }
    visit(schema, path, depth);
    const items = subschema(schema, 'items');
    if (items !== undefined) visitInside(items, `${path}[]`, depth + 1);
    const values = subschema(schema, 'additionalProperties');
    if (values !== undefined) visitInside(values, `${path}.<key>`, depth + 1);
  };
  visit(schema, '', 0);
  return { fields, complete };
}

function hasInside(schema: JsonObject): boolean {
  return (
    Object.keys(propertiesOf(schema)).length > 0 ||
    subschema(schema, 'items') !== undefined ||
    subschema(schema, 'additionalProperties') !== undefined
  );
}

/** Whether fields that the schema does not name are taken too. */
export function isOpenSchema(schema: JsonObject): boolean {
  return (
    isSet(schema, 'x-kubernetes-preserve-unknown-fields') || keyword(schema, 'additionalProperties') === true
  );
}

function typeText(schema: JsonObject, depth = 0): string {
  if (isSet(schema, 'x-kubernetes-int-or-string')) return 'integer or string';
  const items = subschema(schema, 'items');
  if (items !== undefined && depth < MAX_DEPTH) return `[]${typeText(items, depth + 1)}`;
  const values = subschema(schema, 'additionalProperties');
  if (values !== undefined && depth < MAX_DEPTH) return `map of ${typeText(values, depth + 1)}`;
  return typeOf(schema) ?? 'any';
}

function descriptionOf(schema: JsonObject): string {
  const parts: string[] = [];
  const description = keyword(schema, 'description');
  if (typeof description === 'string') parts.push(description.trim());
  const items = subschema(schema, 'items');
  const values = (keyword(schema, 'enum') ?? (items && keyword(items, 'enum'))) as JsonValue[] | undefined;
  if (values !== undefined && values.length > 0)
    parts.push(`One of: ${short(values.map(plainText).join(', '))}.`);
  for (const [name, words] of [
    ['minimum', 'At least'],
    ['maximum', 'At most'],
    ['pattern', 'Matches'],
    ['default', 'Default:'],
  ] as const) {
    const value = keyword(schema, name);
    if (value !== undefined) parts.push(`${words} ${short(plainText(value))}.`);
  }
  if (isOpenSchema(schema)) parts.push('Takes any further fields.');
  return parts.join(' ');
}

function plainText(value: JsonValue): string {
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}

function short(text: string): string {
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}

/** Values that a skeleton has at most. */
const MAX_STUBS = 100;
/** Characters of a default or example that is taken over. */
const MAX_SAMPLE_LENGTH = 500;

/**
 * The required fields with something in them: default, else example, else first value of an enum, else a stub of
 * the type; `<name>` stands for text to be filled in.
 */
export function configSkeleton(schema: JsonObject): JsonObject {
  let stubs = 0;
  const stub = (field: JsonObject, name: string, depth: number): JsonValue => {
    const sample =
      keyword(field, 'default') ??
      keyword(field, 'example') ??
      (keyword(field, 'enum') as JsonValue[] | undefined)?.[0];
    if (sample !== undefined && JSON.stringify(sample).length <= MAX_SAMPLE_LENGTH) return sample;
    const type = typeOf(field);
    if (isSet(field, 'x-kubernetes-int-or-string') || type === 'integer' || type === 'number')
      return lowest(field);
    if (type === 'boolean') return false;
    const items = subschema(field, 'items');
    if (type === 'array') return items === undefined ? [] : [stub(items, singular(name), depth + 1)];
    if (type !== 'object') return `<${name}>`;
    const values = subschema(field, 'additionalProperties');
    const inside = requiredFields(field, depth + 1);
    if (values === undefined || Object.keys(inside).length > 0) return inside;
    return { '<key>': stub(values, 'value', depth + 1) };
  };
  const requiredFields = (around: JsonObject, depth: number): JsonObject => {
    if (depth > MAX_DEPTH) return {};
    // The function's JSON Schema leaves out names that JavaScript confuses, and takes nothing that it does not name.
    const names = requiredOf(around).filter(
      (name) => !PROTOTYPE_NAMES.has(name) && (depth > 0 || !COMMON_FIELDS.has(name)),
    );
    const entries: [string, JsonValue][] = [];
    for (const name of names) {
      if (stubs++ >= MAX_STUBS) break;
      entries.push([name, stub(propertyOf(around, name) ?? {}, name, depth)]);
    }
    return Object.fromEntries(entries);
  };
  return requiredFields(schema, 0);
}

function singular(name: string): string {
  return /[^s]s$/.test(name) ? name.slice(0, -1) : name;
}

/** The smallest whole number that the bounds allow. */
function lowest(schema: JsonObject): number {
  const minimum = keyword(schema, 'minimum');
  if (typeof minimum === 'number') return Math.ceil(minimum) + (isSet(schema, 'exclusiveMinimum') ? 1 : 0);
  const maximum = keyword(schema, 'maximum');
  if (typeof maximum === 'number' && maximum < 0) return Math.floor(maximum) - 1;
  return 0;
}
