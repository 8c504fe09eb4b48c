import type { ErrorObject } from 'ajv';
import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { loadAjv } from '../libraries/lazy-libraries.js';
import type { PatternSet } from './pattern-set.js';

/** Validates every value with the schema of the same name, in one compilation. */
export function validateEach(schemas: JsonObject, values: JsonObject, patterns: PatternSet): ErrorObject[] {
  const Ajv = loadAjv();
  // The validator caches a pattern by the text of this object.
  const linear = (pattern: string) => ({
    test: (text: string) => patterns.test(pattern, text),
    toString: () => pattern,
  });
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    logger: false,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    ownProperties: true,
    unicodeRegExp: false,
    code: { regExp: Object.assign(linear, { code: 'linear' }) },
  });
  const check = ajv.compile({ type: 'object', properties: schemas });
  check(values);
  return check.errors ?? [];
}

/** Returns the most specific error for each value. Errors about null or an unmatched branch rank last. */
export function firstErrors(
  errors: readonly ErrorObject[],
): Map<number, { path: string[]; message: string }> {
  const first = new Map<number, { path: string[]; message: string; rank: number }>();
  for (const error of errors) {
    const [index, ...path] = error.instancePath
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
    const key = Number(index);
    const rank = error.message === 'must be null' ? 2 : /^(anyOf|oneOf|not|if)$/.test(error.keyword) ? 1 : 0;
    const earlier = first.get(key);
    if (earlier !== undefined && earlier.rank <= rank) continue;
    first.set(key, { path, message: describeError(error), rank });
  }
  return first;
}

function describeError(error: ErrorObject): string {
  const params = error.params as { additionalProperty?: string; allowedValues?: JsonValue[] };
  if (params.additionalProperty !== undefined) {
    return `has the field ${quote(params.additionalProperty)}, which its schema does not declare`;
  }
  if (params.allowedValues !== undefined)
    return `must be one of ${params.allowedValues.map(String).join(', ')}`;
  return error.message ?? 'is not valid';
}

/** Returns the schema without properties that the value does not have, which need no compilation. */
export function withoutUnusedProperties(value: JsonValue, schema: JsonObject): JsonObject {
  if (Array.isArray(value)) {
    return value.length === 1 && isObject(schema.items)
      ? { ...schema, items: withoutUnusedProperties(value[0]!, schema.items) }
      : schema;
  }
  const { properties } = schema;
  if (!isObject(properties) || !isObject(value)) return schema;
  const touched = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  return {
    ...schema,
    properties: Object.fromEntries(
      touched.map((name) => [name, withoutUnusedProperties(value[name]!, properties[name] as JsonObject)]),
    ),
  };
}

/** Counts the values inside a value, up to a limit. */
export function countValues(value: JsonValue, limit: number): number {
  const rest: JsonValue[] = [value];
  let count = 0;
  for (let next = rest.pop(); next !== undefined && count < limit; next = rest.pop()) {
    count++;
    if (Array.isArray(next)) for (const item of next) rest.push(item);
    else if (typeof next === 'object' && next !== null)
      for (const item of Object.values(next)) rest.push(item);
  }
  return count;
}
