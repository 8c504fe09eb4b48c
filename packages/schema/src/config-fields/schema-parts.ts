import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import {
  isSet,
  keyword,
  OPEN_API_TYPES,
  propertiesOf,
  propertyOf,
  requiredOf,
  subschema,
} from '../json-schema/open-api.js';

/**
 * The schemas that hold for one value at once: a schema, and what its `allOf` adds to it. Never empty.
 * Nothing is copied, so that a hostile schema costs no more than it has.
 */
export type SchemaParts = readonly [JsonObject, ...JsonObject[]];

/** Of one value. */
const MAX_PARTS = 50;

/** The schemas with all their `allOf` branches; `complete` is false where some were left out. */
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

/** What the value is. A schema without a type is taken for what it describes. */
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

/** Reports whether one of the schemas says `true` for the keyword. */
export function isAnySet(parts: SchemaParts, name: Parameters<typeof isSet>[1]): boolean {
  return parts.some((part) => isSet(part, name));
}

/** The declared fields in the order of the schema, each with all that is said of it. */
export function declaredFields(parts: SchemaParts): Map<string, SchemaParts> {
  const fields = new Map<string, SchemaParts>();
  for (const part of parts) {
    for (const name of Object.keys(propertiesOf(part))) {
      const property: JsonObject = propertyOf(part, name) ?? {};
      const earlier = fields.get(name);
      fields.set(name, earlier === undefined ? [property] : [...earlier, property]);
    }
  }
  return fields;
}

export function requiredFields(parts: SchemaParts): Set<string> {
  return new Set(parts.flatMap(requiredOf));
}

/** What is said of each item of a list, or of each value that is no declared field. */
export function innerSchemas(
  parts: SchemaParts,
  name: 'items' | 'additionalProperties',
): SchemaParts | undefined {
  const [first, ...rest] = parts.map((part) => subschema(part, name)).filter((inner) => inner !== undefined);
  return first === undefined ? undefined : [first, ...rest];
}

/** Reports whether an object may have fields that no schema declares; where none is declared, any may be there. */
export function isOpen(parts: SchemaParts): boolean {
  return (
    isAnySet(parts, 'x-kubernetes-preserve-unknown-fields') ||
    parts.some((part) => keyword(part, 'additionalProperties') === true)
  );
}
