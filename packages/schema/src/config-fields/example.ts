import type { FunctionDefinition, JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { functionConfigSchema, versionNamed } from '../json-schema/function-config.js';
import { keyword, PROTOTYPE_NAMES, requiredOf } from '../json-schema/open-api.js';
import { PatternSet } from '../json-schema/pattern-set.js';
import { countValues, firstErrors, validateEach, withoutUnusedProperties } from '../json-schema/validate.js';
import { kebabCase } from '../names/kebab-case.js';
import { exampleNumber, exampleText, givenValue, minimumCount } from './example-values.js';
import {
  declaredFields,
  expandAllOf,
  innerSchemas,
  requiredFields,
  type SchemaParts,
  valueType,
} from './schema-parts.js';

/** A functionConfig to begin with, made from the schema. */
export interface ConfigExample {
  value: JsonObject;
  /**
   * Whether it satisfies the schema: `valid` was checked, `invalid` was checked too, `unchecked` where the schema is
   * too large for that.
   */
  check: 'valid' | 'invalid' | 'unchecked';
  /** What is wrong with an invalid one, such as `spec.name must match pattern "^x"`. */
  problem?: string;
  /** Reports whether the schema has expressions (CEL) or lists without duplicates, which the check does not look at. */
  partial: boolean;
}

const MAX_DEPTH = 12;
const MAX_VALUES = 400;
/** Values of the example and of what has to be compiled to check it. */
const MAX_CHECKED = 4_000;
/** Items that a minimum may ask for. */
const MAX_ITEMS = 8;
const MAX_GIVEN = 200;
/** Optional fields shown of an object that has nothing else to show, down to a depth; deeper it is one. */
const MAX_SHOWN = 3;
const FULL_DEPTH = 3;
/** Characters of one value that the schema gives, and of all together. */
const MAX_TEXT = 2_000;
const MAX_TEXTS = 20_000;
const MAX_NAME = 200;

/**
 * An example functionConfig of the API version: what must be there, and what has a default or an example. Of two
 * equal definitions it is the same. Throws a `not-found` KrmhubError if there is no such API version.
 */
export function exampleConfig(definition: FunctionDefinition, versionName: string): ConfigExample {
  const version = versionNamed(definition, versionName);
  const { openAPIV3Schema } = version.schema;
  const schema = functionConfigSchema(definition, versionName);
  const attempt = (generous: boolean): ConfigExample => {
    const builder = new ExampleBuilder(generous);
    const { apiVersion: _, kind: __, metadata, ...fields } = builder.object([openAPIV3Schema], 0);
    const value: JsonObject = {
      apiVersion: `${definition.group}/${versionName}`,
      kind: definition.names.kind,
      metadata: { name: kebabCase(definition.names.kind), ...(isObject(metadata) ? metadata : {}) },
      ...fields,
    };
    return { value, ...check(value, schema, builder.patterns), partial: builder.partial };
  };
  // What is there to show more than must be there may be what is wrong.
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
  const touched = withoutUnusedProperties(value, schema);
  if (countValues([value, touched], MAX_CHECKED) >= MAX_CHECKED) return { check: 'unchecked' };
  try {
    const errors = validateEach({ 0: touched }, { 0: value }, patterns);
    if (patterns.exhausted) return { check: 'unchecked' };
    const [first] = firstErrors(errors).values();
    if (first === undefined) return { check: 'valid' };
    return {
      check: 'invalid',
      problem: `${first.path.join('.') || 'the functionConfig'} ${first.message}`.slice(0, 400),
    };
  } catch {
    // The validator refuses a schema that it cannot compile.
    return { check: 'unchecked' };
  }
}

class ExampleBuilder {
  readonly patterns = new PatternSet();
  partial = false;
  #left = MAX_VALUES;
  #text = MAX_TEXTS;
  readonly #generous: boolean;

  /** `generous`: what may be left out is shown where an object would be empty without it. */
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

  /** Entries that a map needs; one where it has none, so that its form is seen. */
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

  /** A value that the schema gives is taken where it is not larger than an example should be. */
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

/** What the first branch of each anyOf and oneOf requires. */
function firstBranchRequired(parts: SchemaParts): string[] {
  return parts.flatMap((part) =>
    (['anyOf', 'oneOf'] as const).flatMap((name) => {
      const branches = ((keyword(part, name) as JsonValue[] | undefined) ?? []).filter(isObject);
      const required = branches.map(requiredOf);
      // Where one branch asks for nothing, nothing has to be there.
      return required.some(({ length }) => length === 0) ? [] : (required[0] ?? []);
    }),
  );
}

function hasGivenValue(parts: SchemaParts): boolean {
  return parts.some(
    (part) => keyword(part, 'default') !== undefined || keyword(part, 'example') !== undefined,
  );
}

/** Rules that a JSON Schema cannot express. */
function hasUncheckedRules(part: JsonObject): boolean {
  const listType = keyword(part, 'x-kubernetes-list-type');
  return keyword(part, 'x-kubernetes-validations') !== undefined || listType === 'set' || listType === 'map';
}
