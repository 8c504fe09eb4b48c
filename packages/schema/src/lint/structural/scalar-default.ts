import { quote } from '../../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../../documents/definition.js';
import { keyword, typeOf } from '../../json-schema/open-api.js';
import type { PatternSet } from '../../json-schema/pattern-set.js';

/** Keywords that can be checked without other schemas, and keywords that do not restrict values. */
const SIMPLE = new Set([
  'type',
  'default',
  'description',
  'title',
  'example',
  'format',
  'enum',
  'minimum',
  'maximum',
  'pattern',
]);
const TYPES: Record<string, (value: JsonValue) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'number' && Number.isInteger(value),
};

/**
 * Checks the default of a simple scalar field. Returns undefined if it is valid, and `unknown` if a validator must
 * check it. Most defaults are simple, and compiling a validator takes as long as parsing the definition.
 */
export function scalarDefault(
  schema: JsonObject,
  value: JsonValue,
  patterns: PatternSet,
): string | undefined {
  const type = typeOf(schema);
  const hasType = type === undefined ? undefined : TYPES[type];
  if (
    hasType === undefined ||
    !Object.keys(schema).every((name) => SIMPLE.has(name) || schema[name] === null)
  ) {
    return 'unknown';
  }
  if (!hasType(value)) return `must be ${type}`;
  const allowed = keyword(schema, 'enum') as JsonValue[] | undefined;
  if (allowed !== undefined && allowed.length > 0 && !allowed.includes(value)) {
    return `must be one of ${allowed.map(String).join(', ')}`;
  }
  const low = keyword(schema, 'minimum');
  const high = keyword(schema, 'maximum');
  if (typeof value === 'number' && typeof low === 'number' && value < low) return `must be >= ${low}`;
  if (typeof value === 'number' && typeof high === 'number' && value > high) return `must be <= ${high}`;
  const pattern = keyword(schema, 'pattern');
  if (typeof pattern === 'string' && typeof value === 'string' && !patterns.test(pattern, value))
    return `must match ${quote(pattern)}`;
  return undefined;
}
