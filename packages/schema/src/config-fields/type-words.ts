import type { JsonValue } from '../definition.js';
import { keyword } from '../json-schema/open-api.js';
import { typesOf } from './choices.js';
import { fieldsOf, innerParts, type Parts, partsOf, valueType } from './parts.js';

const MAX_TYPE_DEPTH = 6;

/** What a list or a map consists of. */
export function elementOf(parts: Parts): { of: string; step: string; parts: Parts } | undefined {
  const type = valueType(parts);
  if (type === 'array') {
    const items = innerParts(parts, 'items');
    return items && { of: 'each item', step: '[]', parts: items };
  }
  if (type !== 'object' || fieldsOf(parts).size > 0) return undefined;
  const values = innerParts(parts, 'additionalProperties');
  return values && { of: 'each value', step: '.<key>', parts: values };
}

/** What a value is, in words: `list of string`, `map of <key>: integer`. */
export function typeWords(parts: Parts, depth = 0): string {
  if (depth > MAX_TYPE_DEPTH) return '…';
  const type = valueType(parts);
  const element = elementOf(parts);
  if (element !== undefined) {
    const inner = typeWords(partsOf(element.parts).parts, depth + 1);
    return type === 'array' ? `list of ${inner}` : `map of <key>: ${inner}`;
  }
  if (type === 'array') return 'list';
  if (type === 'object' && fieldsOf(parts).size === 0 && takesAny(parts)) return 'map of <key>: any';
  return type === 'any' ? (alternatives(parts) ?? 'any') : type;
}

function takesAny(parts: Parts): boolean {
  return parts.some((part) => keyword(part, 'additionalProperties') === true);
}

/** Types that `anyOf` or `oneOf` name. */
function alternatives(parts: Parts): string | undefined {
  for (const part of parts) {
    for (const name of ['anyOf', 'oneOf'] as const) {
      const types = typesOf((keyword(part, name) as JsonValue[] | undefined) ?? []);
      if (types !== undefined && types.length > 0) return [...new Set(types)].join(' or ');
    }
  }
  return undefined;
}
