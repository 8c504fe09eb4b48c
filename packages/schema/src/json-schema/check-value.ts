import { describeType } from '../diagnostics/describe-value.js';
import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { countValues } from './count-values.js';
import {
  isKeywordValue,
  isSet,
  keyword,
  type OpenApiKeyword,
  requiredProperties,
  schemaProperties,
  schemaProperty,
  schemaType,
  subschema,
} from './open-api.js';
import type { PatternSet } from './pattern-set.js';
import { hasFormat, isInRange } from './value-formats.js';

/**
 * Validates values with an OpenAPI v3 schema as Kubernetes validates custom resources, except for CEL rules. Unknown
 * fields are problems where Kubernetes would prune them.
 */

export interface ValueProblem {
  /** Where it is; with `isKey`, at the name of the field. */
  at: Path;
  isKey: boolean;
  message: string;
}

export interface ValueCheckOptions {
  patterns: PatternSet;
  /** Returns the exact integer at a path, where a number cannot have it. */
  exact?: ((at: Path) => bigint | undefined) | undefined;
  /** How many more schemas may be compared with values; several checks can share it. */
  steps?: { left: number };
}

export type ValueCheck = { problems: ValueProblem[] } | { exhausted: true };

/** Maximum depth: documents have at most 64 levels. */
const MAX_DEPTH = 128;
/**
 * Maximum number of schemas that a value is compared with, and of values that one schema names for it. A million take a
 * few tenths of a second.
 */
const MAX_STEPS = 1_000_000;
/** Steps that a problem costs, since each takes memory. */
const PROBLEM_STEPS = 20;
/** Characters of a text that cost one step. */
const CHARACTERS_PER_STEP = 16;
/** Decimal fractions have no exact binary form: how far a quotient may be from an integer, and relative to its size. */
const ROUNDING = { absolute: 1e-9, relative: 4 * Number.EPSILON };

/** Validates a value. `exhausted`: the value, the schema, or its patterns are too large. */
export function checkValue(schema: JsonObject, value: JsonValue, options: ValueCheckOptions): ValueCheck {
  const check = new Check(options);
  try {
    const problems = check.value(schema, value, { at: [], isBranch: false });
    return options.patterns.exhausted ? { exhausted: true } : { problems };
  } catch (error) {
    if (error === EXHAUSTED) return { exhausted: true };
    throw error;
  }
}

const EXHAUSTED = new Error('the schema is too large');

interface Place {
  at: Path;
  isBranch: boolean;
}

class Check {
  readonly #options: ValueCheckOptions;
  readonly #steps: { left: number };
  readonly #enums = new Map<JsonValue[], ReturnType<typeof describeEnum>>();

  constructor(options: ValueCheckOptions) {
    this.#options = options;
    this.#steps = options.steps ?? { left: MAX_STEPS };
  }

  value(schema: JsonObject, value: JsonValue, place: Place): ValueProblem[] {
    this.#charge(1);
    if (place.at.length > MAX_DEPTH) throw EXHAUSTED;
    if (value === null && isSet(schema, 'nullable')) return [];
    const mismatch = typeProblem(schema, value);
    if (mismatch !== undefined) return [problem(place, mismatch)];
    const problems: ValueProblem[] = [];
    const add = (message: string | undefined, at: Path = [], isKey = false) => {
      if (message === undefined) return;
      this.#charge(PROBLEM_STEPS);
      problems.push({ at: [...place.at, ...at], isKey, message });
    };
    add(this.#enumProblem(schema, value));
    if (typeof value === 'number') this.#number(schema, value, place, add);
    else if (typeof value === 'string') this.#text(schema, value, add);
    else if (Array.isArray(value)) problems.push(...this.#list(schema, value, place, add));
    else if (isObject(value)) problems.push(...this.#object(schema, value, place, add));
    problems.push(...this.#branches(schema, value, place));
    return problems;
  }

  /** Throws if the budget is used up. */
  #charge(steps: number): void {
    this.#steps.left -= steps;
    if (this.#steps.left < 0) throw EXHAUSTED;
  }

  #enumProblem(schema: JsonObject, value: JsonValue): string | undefined {
    const allowed = keyword(schema, 'enum') as JsonValue[] | undefined;
    if (allowed === undefined || allowed.length === 0) return undefined;
    this.#charge(countValues(value, this.#steps.left));
    const listed = this.#enums.get(allowed) ?? describeEnum(allowed);
    this.#enums.set(allowed, listed);
    return listed.values.has(canonical(value)) ? undefined : listed.message;
  }

  #number(schema: JsonObject, value: number, { at }: Place, add: Add): void {
    const low = keyword(schema, 'minimum') as number | undefined;
    const high = keyword(schema, 'maximum') as number | undefined;
    const above = isSet(schema, 'exclusiveMinimum');
    const below = isSet(schema, 'exclusiveMaximum');
    if (low !== undefined && (above ? value <= low : value < low))
      add(`must be ${above ? '>' : '>='} ${low}`);
    if (high !== undefined && (below ? value >= high : value > high)) {
      add(`must be ${below ? '<' : '<='} ${high}`);
    }
    const step = keyword(schema, 'multipleOf');
    if (typeof step === 'number' && step > 0 && !isMultiple(value, step)) add(`must be multiple of ${step}`);
    if (schemaType(schema) !== 'integer') return;
    const format = keyword(schema, 'format') as string | undefined;
    const exact = Number.isSafeInteger(value) ? undefined : this.#options.exact?.(at);
    if (!isInRange(format, exact ?? BigInt(value))) {
      add(`must be an integer of ${format === 'int32' ? '32' : '64'} bits`);
    }
  }

  #text(schema: JsonObject, value: string, add: Add): void {
    this.#charge(Math.floor(value.length / CHARACTERS_PER_STEP));
    if (keyword(schema, 'minLength') !== undefined || keyword(schema, 'maxLength') !== undefined) {
      addCount(schema, [...value].length, ['minLength', 'maxLength', 'characters'], add);
    }
    const pattern = keyword(schema, 'pattern') as string | undefined;
    if (pattern !== undefined && !this.#options.patterns.test(pattern, value)) {
      add(`must match pattern "${pattern}"`);
    }
    const format = keyword(schema, 'format') as string | undefined;
    if (format !== undefined && !hasFormat(format, value)) add(`must match format "${format}"`);
  }

  #list(schema: JsonObject, value: JsonValue[], { at, isBranch }: Place, add: Add): ValueProblem[] {
    addCount(schema, value.length, ['minItems', 'maxItems', 'items'], add);
    this.#duplicates(schema, value, add);
    const items = subschema(schema, 'items');
    if (items === undefined) return [];
    return value.flatMap((item, index) => this.value(items, item, { at: [...at, index], isBranch }));
  }

  /** Items of a set are unique, and those of a map by their keys, of which an absent one has its default. */
  #duplicates(schema: JsonObject, value: JsonValue[], add: Add): void {
    const type = keyword(schema, 'x-kubernetes-list-type');
    if (type !== 'set' && type !== 'map') return;
    const names = (keyword(schema, 'x-kubernetes-list-map-keys') as string[] | undefined) ?? [];
    this.#charge(type === 'set' ? countValues(value, this.#steps.left) : names.length * value.length);
    const item = subschema(schema, 'items') ?? {};
    const itemKey = (one: JsonValue, name: string) =>
      isObject(one) && Object.hasOwn(one, name)
        ? one[name]!
        : (keyword(schemaProperty(item, name) ?? {}, 'default') ?? null);
    const same = type === 'set' ? 'is the same as' : `has the same ${names.join(' and ')} as`;
    const seen = new Map<string, number>();
    for (const [index, one] of value.entries()) {
      const key = canonical(type === 'set' ? one : names.map((name) => itemKey(one, name)));
      const first = seen.get(key);
      if (first === undefined) seen.set(key, index);
      else add(`${same} item ${first}`, [index]);
    }
  }

  #object(schema: JsonObject, value: JsonObject, { at, isBranch }: Place, add: Add): ValueProblem[] {
    const names = Object.keys(value);
    addCount(schema, names.length, ['minProperties', 'maxProperties', 'properties'], add);
    const required = requiredProperties(schema);
    this.#charge(required.length);
    for (const name of new Set(required)) {
      // Authors can omit a field with a default.
      const isOptional = keyword(schemaProperty(schema, name) ?? {}, 'default') !== undefined;
      if (!isOptional && !Object.hasOwn(value, name)) add(`must have required property '${name}'`);
    }
    const declared = schemaProperties(schema);
    const others = keyword(schema, 'additionalProperties');
    const isClosed = others === false || (others === undefined && !isBranch && isClosedObject(schema));
    const problems: ValueProblem[] = [];
    for (const name of names) {
      this.#charge(1);
      const property = schemaProperty(schema, name);
      const inner = property ?? (Object.hasOwn(declared, name) ? {} : others);
      if (isObject(inner as JsonValue)) {
        problems.push(...this.value(inner as JsonObject, value[name]!, { at: [...at, name], isBranch }));
      } else if (isClosed) add(`has the unknown field ${quote(name)}`, [name], true);
    }
    return problems;
  }

  #branches(schema: JsonObject, value: JsonValue, { at }: Place): ValueProblem[] {
    const place = { at, isBranch: true };
    const results = (name: 'allOf' | 'anyOf' | 'oneOf') =>
      ((keyword(schema, name) as JsonValue[] | undefined) ?? [])
        .filter((branch) => isKeywordValue(branch, 'schema'))
        .map((branch) => this.value(branch as JsonObject, value, place));
    const problems = results('allOf').flat();
    const any = results('anyOf');
    if (any.length > 0 && any.every((found) => found.length > 0)) {
      problems.push(...nearest(any), problem(place, 'must match a schema in anyOf'));
    }
    const one = results('oneOf');
    const matching = one.filter((found) => found.length === 0).length;
    if (one.length > 0 && matching !== 1) {
      const near = matching === 0 ? nearest(one) : [];
      problems.push(...near, problem(place, 'must match exactly one schema in oneOf'));
    }
    const negated = subschema(schema, 'not');
    if (negated !== undefined && this.value(negated, value, place).length === 0) {
      problems.push(problem(place, 'must NOT be valid'));
    }
    return problems;
  }
}

type Add = (message: string | undefined, at?: Path, isKey?: boolean) => void;

function problem({ at }: Place, message: string): ValueProblem {
  return { at, isKey: false, message };
}

/** The problems of the branch that has the fewest. */
function nearest(branches: readonly ValueProblem[][]): ValueProblem[] {
  return branches.reduce((best, found) => (found.length < best.length ? found : best));
}

/** Reports whether a schema forbids fields that it does not declare. */
export function isClosedObject(schema: JsonObject): boolean {
  return (
    Object.keys(schemaProperties(schema)).length > 0 &&
    !isSet(schema, 'x-kubernetes-preserve-unknown-fields') &&
    !isSet(schema, 'x-kubernetes-embedded-resource')
  );
}

function typeProblem(schema: JsonObject, value: JsonValue): string | undefined {
  if (isSet(schema, 'x-kubernetes-int-or-string')) {
    const isEither = typeof value === 'string' || Number.isInteger(value);
    return isEither ? undefined : wrongType('an integer or a string', value);
  }
  const type = schemaType(schema);
  const hasType =
    type === 'integer'
      ? Number.isInteger(value)
      : type === 'array'
        ? Array.isArray(value)
        : type === 'object'
          ? isObject(value)
          : type === 'string' || type === 'number' || type === 'boolean'
            ? typeof value === type
            : true;
  return hasType || type === undefined ? undefined : wrongType(TYPE_WORDS[type] ?? type, value);
}

/** The types of a schema in the words of YAML. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
};

function wrongType(wanted: string, value: JsonValue): string {
  return `must be ${wanted}, not ${describeType(value)}`;
}

/** The values of an enum as canonical text, and the message for any other: a list can have many items of one enum. */
function describeEnum(allowed: readonly JsonValue[]): { values: ReadonlySet<string>; message: string } {
  const shown = allowed.map((one) => (isScalar(one) ? String(one) : JSON.stringify(one)));
  return { values: new Set(allowed.map(canonical)), message: `must be one of ${shown.join(', ')}` };
}

/**
 * Kubernetes multiplies by the inverse of a small step, and tolerates a rounding error. Here a quotient just below an
 * integer counts too: 19.99 is a multiple of 0.01.
 */
function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0;
  const quotient = value / step;
  const distance = Math.abs(quotient - Math.round(quotient));
  return distance <= Math.max(ROUNDING.absolute, ROUNDING.relative * Math.abs(quotient));
}

function addCount(
  schema: JsonObject,
  count: number,
  [lower, upper, unit]: readonly [OpenApiKeyword, OpenApiKeyword, string],
  add: Add,
): void {
  const low = keyword(schema, lower) as number | undefined;
  const high = keyword(schema, upper) as number | undefined;
  if (low !== undefined && count < low) add(`must NOT have fewer than ${low} ${unit}`);
  if (high !== undefined && count > high) add(`must NOT have more than ${high} ${unit}`);
}

/**
 * Returns a value without the fields that are null where their schema does not allow null, and has no default: Kubernetes
 * removes them before it validates.
 */
export function withoutNulls(schema: JsonObject, value: JsonValue): JsonValue {
  if (Array.isArray(value)) {
    const items = subschema(schema, 'items');
    return items === undefined ? value : value.map((item) => withoutNulls(items, item));
  }
  if (!isObject(value)) return value;
  const others = subschema(schema, 'additionalProperties');
  const entries = Object.entries(value).flatMap(([name, item]): [string, JsonValue][] => {
    const inner = schemaProperty(schema, name) ?? others;
    if (inner === undefined) return [[name, item]];
    return item === null && !isSet(inner, 'nullable') ? [] : [[name, withoutNulls(inner, item)]];
  });
  return Object.fromEntries(entries);
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== 'object' || value === null;
}

/** Text that is the same for equal values. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_name, inner: JsonValue) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}
