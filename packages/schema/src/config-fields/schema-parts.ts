import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import {
  isSet,
  keyword,
  OPEN_API_TYPES,
  requiredProperties,
  schemaProperties,
  schemaProperty,
  subschema,
} from '../json-schema/open-api.js';

/**
 * The schemas that apply to one value: a schema and the branches of its `allOf`. Never empty. They are not copied, so
 * that the cost for a hostile schema is bounded.
 */
export type SchemaParts = readonly [JsonObject, ...JsonObject[]];

/** Maximum number of schemas for one value. */
const MAX_PARTS = 50;

/** Returns the schemas with all `allOf` branches. `complete` is false if some are omitted. */
export function expandAllOf(schemas: SchemaParts): { parts: SchemaParts; complete: boolean } {
  const parts: [JsonObject, ...JsonObject[]] = [...schemas];
  let complete = true;
  for (let index = 0; index < parts.length; index++) {
    const branches = (keyword(parts[index]!, 'allOf') as JsonValue[] | undefined) ?? [];
    for (const branch of branches) {
      if (!isObject(branch)) complete = false;
      else if (parts.length < MAX_PARTS) parts.push(branch);
      else return { parts, complete: false };
    }
  }
  return { parts, complete };
}

export type ValueType = (typeof OPEN_API_TYPES)[number] | 'integer or string' | 'any';

/** Returns the type of a value, derived from keywords if the schema has no type. */
export function valueType(parts: SchemaParts): ValueType {
  if (parts.some((part) => isSet(part, 'x-kubernetes-int-or-string'))) return 'integer or string';
  for (const part of parts) {
    const type = OPEN_API_TYPES.find((known) => known === keyword(part, 'type'));
    if (type !== undefined) return type;
  }
  if (parts.some((part) => keyword(part, 'properties') ?? keyword(part, 'additionalProperties')))
    return 'object';
  return parts.some((part) => subschema(part, 'items')) ? 'array' : 'any';
}

/** Reports whether the keyword is `true` in one of the schemas. */
export function isAnySet(parts: SchemaParts, name: Parameters<typeof isSet>[1]): boolean {
  return parts.some((part) => isSet(part, name));
}

/** Returns the declared fields in the order of the schema, each with its schemas. */
export function declaredFields(parts: SchemaParts): Map<string, SchemaParts> {
  const fields = new Map<string, SchemaParts>();
  for (const part of parts) {
    for (const name of Object.keys(schemaProperties(part))) {
      const property: JsonObject = schemaProperty(part, name) ?? {};
      const earlier = fields.get(name);
      fields.set(name, earlier === undefined ? [property] : [...earlier, property]);
    }
  }
  return fields;
}

export function requiredFields(parts: SchemaParts): Set<string> {
  return new Set(parts.flatMap(requiredProperties));
}

/** Returns the schemas for items of a list, or for values of undeclared fields. */
export function innerSchemas(
  parts: SchemaParts,
  name: 'items' | 'additionalProperties',
): SchemaParts | undefined {
  const [first, ...rest] = parts.map((part) => subschema(part, name)).filter((inner) => inner !== undefined);
  return first === undefined ? undefined : [first, ...rest];
}

/** Reports whether an object accepts undeclared fields. */
export function isOpen(parts: SchemaParts): boolean {
  return (
    isAnySet(parts, 'x-kubernetes-preserve-unknown-fields') ||
    parts.some((part) => keyword(part, 'additionalProperties') === true)
  );
}
