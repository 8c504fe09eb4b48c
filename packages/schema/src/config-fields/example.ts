import { formatPath } from '../diagnostics/diagnostic.js';
import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { isObject, objectField } from '../json/access.js';
import { checkValue } from '../json-schema/check-value.js';
import { countValues } from '../json-schema/count-values.js';
import { versionNamed } from '../json-schema/function-config.js';
import { keyword, PROTOTYPE_NAMES, requiredProperties } from '../json-schema/open-api.js';
import { PatternSet } from '../json-schema/pattern-set.js';
import { kebabCase } from '../names/kebab-case.js';
import { configSchema } from './check-config.js';
import { exampleNumber, exampleText, givenValue, minimumCount } from './example-values.js';
import {
  declaredFields,
  expandAllOf,
  innerSchemas,
  requiredFields,
  type SchemaParts,
  valueType,
} from './schema-parts.js';

/** A functionConfig to start from, generated from the schema. */
export interface ConfigExample {
  value: JsonObject;
  /** Whether the example satisfies the schema. `unchecked`: the schema is too large to check. */
  check: 'valid' | 'invalid' | 'unchecked';
  /** The problem of an invalid example, such as `spec.name must match pattern "^x"`. */
  problem?: string;
  /** Whether the schema has CEL rules or lists without duplicates, which are not checked. */
  partial: boolean;
}

const MAX_DEPTH = 12;
const MAX_VALUES = 400;
/** Maximum number of values in the example and its schema. */
const MAX_CHECKED = 4_000;
/** Maximum number of items for a required minimum. */
const MAX_ITEMS = 8;
const MAX_GIVEN = 200;
/** Maximum number of optional fields of an object without required fields. Below this depth, it is one. */
const MAX_SHOWN = 3;
const FULL_DEPTH = 3;
/** Maximum number of characters of one value from the schema, and of all values. */
const MAX_TEXT = 2_000;
const MAX_TEXTS = 20_000;
const MAX_NAME = 200;

/**
 * Generates an example functionConfig of an API version, with required fields, defaults, and examples. The result is
 * deterministic. Throws a `not-found` KrmhubError for an unknown API version.
 */
export function exampleConfig(definition: FunctionDefinition, versionName: string): ConfigExample {
  const version = versionNamed(definition, versionName);
  const { openAPIV3Schema } = version.schema;
  const schema = configSchema(definition, versionName);
  const attempt = (generous: boolean): ConfigExample => {
    const builder = new ExampleBuilder(generous);
    const example = builder.object([openAPIV3Schema], 0);
    const { apiVersion: _, kind: __, metadata: ___, ...fields } = example;
    const value: JsonObject = {
      apiVersion: `${definition.group}/${versionName}`,
      kind: definition.names.kind,
      metadata: { name: kebabCase(definition.names.kind), ...objectField(example, 'metadata') },
      ...fields,
    };
    return { value, ...check(value, schema, builder.patterns), partial: builder.partial };
  };
  // The optional fields can be the reason why the example is invalid.
  const generous = attempt(true);
  if (generous.check === 'valid') return generous;
  const sparing = attempt(false);
  return sparing.check === 'valid' ? sparing : generous;
}

function check(
  value: JsonObject,
  schema: JsonObject,
  patterns: PatternSet,
): Pick<ConfigExample, 'check' | 'problem'> {
  if (countValues(value, MAX_CHECKED) >= MAX_CHECKED) return { check: 'unchecked' };
  const checked = checkValue(schema, value, { patterns });
  if ('exhausted' in checked) return { check: 'unchecked' };
  const [first] = checked.problems;
  if (first === undefined) return { check: 'valid' };
  return {
    check: 'invalid',
    problem: `${formatPath(first.at) || 'the functionConfig'} ${first.message}`.slice(0, 400),
  };
}

class ExampleBuilder {
  readonly patterns = new PatternSet();
  partial = false;
  #left = MAX_VALUES;
  #text = MAX_TEXTS;
  readonly #generous: boolean;

  /** With `generous`, objects without required fields contain optional ones. */
  constructor(generous: boolean) {
    this.#generous = generous;
  }

  object(schemas: SchemaParts, depth: number): JsonObject {
    const { parts } = expandAllOf(schemas);
    if (parts.some(hasUncheckedRules)) this.partial = true;
    const fields = declaredFields(parts);
    const required = requiredFields(parts);
    for (const name of firstBranchRequired(parts)) required.add(name);
    const result: JsonObject = {};
    const put = (name: string, said: SchemaParts): void => {
      if (this.#left > 0 && !PROTOTYPE_NAMES.has(name) && name.length <= MAX_NAME)
        result[name] = this.#value(said, depth + 1);
    };
    for (const [name, said] of fields) {
      if (required.has(name) || hasGivenValue(expandAllOf(said).parts)) put(name, said);
    }
    for (const name of required) {
      if (!fields.has(name)) put(name, innerSchemas(parts, 'additionalProperties') ?? [{ type: 'string' }]);
    }
    if (Object.keys(result).length === 0 && this.#generous) {
      const shown = [...fields].filter(([name]) => depth > 0 || !isResourceField(name));
      for (const field of shown.slice(0, depth <= FULL_DEPTH ? MAX_SHOWN : 1)) put(...field);
    }
    this.#addEntries(parts, result, fields, depth);
    return result;
  }

  /** Generates the required entries of a map, or one entry to show its structure. */
  #addEntries(
    parts: SchemaParts,
    result: JsonObject,
    fields: ReadonlyMap<string, SchemaParts>,
    depth: number,
  ): void {
    const least = Math.min(minimumCount(parts, 'minProperties'), MAX_ITEMS);
    const values = innerSchemas(parts, 'additionalProperties');
    const open = parts.some((part) => keyword(part, 'additionalProperties') === true);
    const wanted = values !== undefined && fields.size === 0 ? Math.max(least, 1) : least;
    for (let index = 1; Object.keys(result).length < wanted && this.#left > 0; index++) {
      const optional = [...fields].find(
        ([name]) => !Object.hasOwn(result, name) && !PROTOTYPE_NAMES.has(name),
      );
      if (optional !== undefined) result[optional[0]] = this.#value(optional[1], depth + 1);
      else if (values !== undefined || open) {
        result[index === 1 ? 'key' : `key${index}`] = this.#value(values ?? [{ type: 'string' }], depth + 1);
      } else break;
    }
  }

  #value(schemas: SchemaParts, depth: number): JsonValue {
    this.#left--;
    const { parts } = expandAllOf(schemas);
    if (parts.some(hasUncheckedRules)) this.partial = true;
    const given = givenValue(parts);
    if (given !== undefined && this.#accepts(given)) return given;
    if (depth > MAX_DEPTH) return {};
    switch (valueType(parts)) {
      case 'object':
        return this.object(parts, depth);
      case 'array':
        return this.#list(parts, depth);
      case 'boolean':
        return true;
      case 'integer':
      case 'integer or string':
        return exampleNumber(parts, true);
      case 'number':
        return exampleNumber(parts, false);
      case 'string':
        return exampleText(parts, this.patterns);
      case 'any':
        return exampleText(parts, this.patterns);
    }
  }

  /** Returns a value from the schema if it is small enough for an example. */
  #accepts(value: JsonValue): boolean {
    if (typeof value === 'string' ? value.length > MAX_TEXT : countValues(value, MAX_GIVEN) >= MAX_GIVEN)
      return false;
    const size = JSON.stringify(value).length;
    if (size > Math.min(MAX_TEXT, this.#text)) return false;
    this.#text -= size;
    return true;
  }

  #list(parts: SchemaParts, depth: number): JsonValue[] {
    const items = innerSchemas(parts, 'items');
    if (items === undefined) return [];
    const count = Math.min(Math.max(minimumCount(parts, 'minItems'), 1), MAX_ITEMS);
    const list: JsonValue[] = [];
    while (list.length < count && this.#left > 0) list.push(this.#value(items, depth + 1));
    return list;
  }
}

function isResourceField(name: string): boolean {
  return name === 'apiVersion' || name === 'kind' || name === 'metadata';
}

/** Returns the names that the first branch of each anyOf and oneOf requires. */
function firstBranchRequired(parts: SchemaParts): string[] {
  return parts.flatMap((part) =>
    (['anyOf', 'oneOf'] as const).flatMap((name) => {
      const branches = ((keyword(part, name) as JsonValue[] | undefined) ?? []).filter(isObject);
      const required = branches.map(requiredProperties);
      // If a branch requires nothing, no field is required.
      return required.some(({ length }) => length === 0) ? [] : (required[0] ?? []);
    }),
  );
}

function hasGivenValue(parts: SchemaParts): boolean {
  return parts.some(
    (part) => keyword(part, 'default') !== undefined || keyword(part, 'example') !== undefined,
  );
}

/** Reports whether a schema has rules that JSON Schema cannot express. */
function hasUncheckedRules(part: JsonObject): boolean {
  const listType = keyword(part, 'x-kubernetes-list-type');
  return keyword(part, 'x-kubernetes-validations') !== undefined || listType === 'set' || listType === 'map';
}
