import type { JsonValue } from '../documents/definition.js';
import { keyword } from '../json-schema/open-api.js';
import { branchTypes } from './choices.js';
import { declaredFields, expandAllOf, innerSchemas, type SchemaParts, valueType } from './schema-parts.js';

const MAX_TYPE_DEPTH = 6;

/** The items of a list, or the values of a map. */
export function elementType(
  parts: SchemaParts,
): { label: string; step: string; parts: SchemaParts } | undefined {
  const type = valueType(parts);
  if (type === 'array') {
    const items = innerSchemas(parts, 'items');
    return items && { label: 'each item', step: '[]', parts: items };
  }
  if (type !== 'object' || declaredFields(parts).size > 0) return undefined;
  const values = innerSchemas(parts, 'additionalProperties');
  return values && { label: 'each value', step: '.<key>', parts: values };
}

/** Describes the type of a value, such as `list of string` or `map of <key>: integer`. */
export function describeType(parts: SchemaParts, depth = 0): string {
  if (depth > MAX_TYPE_DEPTH) return '…';
  const type = valueType(parts);
  const element = elementType(parts);
  if (element !== undefined) {
    const inner = describeType(expandAllOf(element.parts).parts, depth + 1);
    return type === 'array' ? `list of ${inner}` : `map of <key>: ${inner}`;
  }
  if (type === 'array') return 'list';
  if (type === 'object' && declaredFields(parts).size === 0 && acceptsAny(parts)) return 'map of <key>: any';
  return type === 'any' ? (alternatives(parts) ?? 'any') : type;
}

function acceptsAny(parts: SchemaParts): boolean {
  return parts.some((part) => keyword(part, 'additionalProperties') === true);
}

/** Returns the types in `anyOf` or `oneOf`. */
function alternatives(parts: SchemaParts): string | undefined {
  for (const part of parts) {
    for (const name of ['anyOf', 'oneOf'] as const) {
      const types = branchTypes((keyword(part, name) as JsonValue[] | undefined) ?? []);
      if (types !== undefined && types.length > 0) return [...new Set(types)].join(' or ');
    }
  }
  return undefined;
}
