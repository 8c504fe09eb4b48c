import type { ErrorObject } from 'ajv';
import type { JsonObject, JsonValue } from '../../definition.js';
import { toJsonSchema } from '../../json-schema/function-config.js';
import { keyword } from '../../json-schema/open-api.js';
import { isObject } from '../json-access.js';
import { loadAjv } from '../libraries.js';
import { quote, type Report } from '../rule.js';
import type { SchemaCheck, SchemaNode } from './nodes.js';
import type { PatternSet } from './pattern-set.js';
import { scalarDefault } from './scalar-default.js';

/** Of one definition. Compiling a validator for 5,000 values takes a few tenths of a second. */
export const MAX_DEFAULT_VALUES = 5_000;

/** A default is valid under the schema that it belongs to, with the defaults inside that schema. */
export const defaults: SchemaCheck = (nodes, report, state) => {
  const { patterns } = state;
  const checked: { node: SchemaNode; value: JsonValue }[] = [];
  const schemas: JsonObject = {};
  for (const node of nodes) {
    const value = keyword(node.schema, 'default');
    if (value === undefined || node.level === 'junctor') continue;
    const scalar = scalarDefault(node.schema, value, patterns);
    if (scalar !== 'unknown') {
      if (scalar !== undefined) report('schema/default', [...node.path, 'default'], `the default ${scalar}`);
      if (!patterns.exhausted) continue;
      reportCostly(node, report);
      break;
    }
    state.valuesLeft -= countValues(node.schema, state.valuesLeft);
    if (state.valuesLeft <= 0) {
      const message = 'the schemas that have defaults are too large to check this default and those after it';
      report('schema/default-unchecked', [...node.path, 'default'], message, { target: 'key' });
      break;
    }
    schemas[String(checked.length)] = touchedBy(
      value,
      toJsonSchema(node.schema, () => true),
    );
    checked.push({ node, value });
  }
  if (checked.length === 0) return;
  const defaultsByIndex = Object.fromEntries(checked.map(({ value }, index) => [index, value]));
  const before = patterns.exhausted;
  const errors = validate(schemas, defaultsByIndex, patterns);
  if (patterns.exhausted && !before) reportCostly(checked[0]!.node, report);
  for (const [index, { path, message }] of firstErrors(errors)) {
    const { node, value } = checked[index]!;
    report('schema/default', [...node.path, 'default', ...stepsIn(value, path)], `the default ${message}`);
  }
};

function reportCostly({ path }: SchemaNode, report: Report): void {
  const message = 'matching the patterns costs too much to check this default and those after it';
  report('schema/default-unchecked', [...path, 'default'], message, { target: 'key' });
}

/** Validates every value against the schema of the same name, in one compilation. */
function validate(schemas: JsonObject, values: JsonObject, patterns: PatternSet): ErrorObject[] {
  const Ajv = loadAjv();
  // The text of the object is the key under which the validator keeps a pattern.
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

/** The most telling error for each value; what says only that null or a branch did not match tells least. */
function firstErrors(errors: readonly ErrorObject[]): Map<number, { path: string[]; message: string }> {
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
    first.set(key, { path, message: wordsOf(error), rank });
  }
  return first;
}

function wordsOf(error: ErrorObject): string {
  const params = error.params as { additionalProperty?: string; allowedValues?: JsonValue[] };
  if (params.additionalProperty !== undefined) {
    return `has the field ${quote(params.additionalProperty)}, which its schema does not declare`;
  }
  if (params.allowedValues !== undefined)
    return `must be one of ${params.allowedValues.map(String).join(', ')}`;
  return error.message ?? 'is not valid';
}

/** A JSON pointer's steps as a path: indexes of lists are numbers. */
function stepsIn(value: JsonValue, steps: readonly string[]): (string | number)[] {
  let current: JsonValue | undefined = value;
  return steps.map((step) => {
    const key = Array.isArray(current) ? Number(step) : step;
    current = Array.isArray(current)
      ? current[Number(step)]
      : typeof current === 'object' && current !== null
        ? current[step]
        : undefined;
    return key;
  });
}

/** The schema without the properties that the value does not have: they need not be compiled. */
function touchedBy(value: JsonValue, schema: JsonObject): JsonObject {
  const { properties } = schema;
  if (!isObject(properties) || !isObject(value)) return schema;
  const touched = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  return {
    ...schema,
    properties: Object.fromEntries(
      touched.map((name) => [name, touchedBy(value[name]!, properties[name] as JsonObject)]),
    ),
  };
}

/** Values inside a value, counted up to a limit. */
function countValues(value: JsonValue, limit: number): number {
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
