import { uncheckedRule } from '../cel/check-rules.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { textField } from '../json/access.js';
import {
  isKeywordValue,
  isSet,
  keyword,
  OPEN_API_KEYWORDS,
  OPEN_API_TYPES,
} from '../json-schema/open-api.js';
import { isUncheckedFormat } from '../json-schema/value-formats.js';
import { describeChoices } from './choices.js';
import type { SchemaParts } from './schema-parts.js';
import { isAnySet } from './schema-parts.js';
import type { TextBudget } from './text-budget.js';

/** A rule for a value: text such as "at least", and values to show as code after it. */
export interface ConfigRule {
  text: string;
  values: string[];
  /** The number of values that are not listed. */
  more: number;
}

/** The rule for schemas with rules that the description does not contain. */
export const FURTHER_RULES = 'see the schema for more rules';

const MAX_VALUES = 40;
const MAX_VALUE_LENGTH = 300;
const MAX_EXPRESSIONS = 30;
/** Keywords that Kubernetes schemas do not support, or that other fields describe. */
const UNDESCRIBED_KEYWORDS = ['$ref', 'dependencies', 'patternProperties', 'additionalItems'] as const;
const VALIDATIONS = 'x-kubernetes-validations';

/** Returns the rules for one value, without those of fields and items. `further`: the schema has more rules. */
export function describeRules(parts: SchemaParts, budget: TextBudget, further: boolean): ConfigRule[] {
  const rules: ConfigRule[] = [];
  const seen = new Set<string>();
  let more = further;
  const add: Add = (text, values = [], asWritten = false) => {
    const rule = {
      text: budget.take(text, MAX_VALUE_LENGTH),
      values: values
        .slice(0, MAX_VALUES)
        .map((value) =>
          asWritten && typeof value === 'string'
            ? budget.take(value, MAX_VALUE_LENGTH)
            : budget.value(value, MAX_VALUE_LENGTH),
        ),
      more: Math.max(0, values.length - MAX_VALUES),
    };
    const key = JSON.stringify(rule);
    if (!seen.has(key)) rules.push(rule);
    seen.add(key);
  };
  for (const part of parts) {
    addValues(part, add);
    addBounds(part, add);
    addCollections(part, add);
    const choices = describeChoices(part);
    if (choices === undefined) more = true;
    for (const { text: words, values } of choices ?? []) add(words, values, words !== 'none of');
    if (!addExpressions(part, add) || hasUndescribedKeywords(part)) more = true;
  }
  if (isAnySet(parts, 'x-kubernetes-embedded-resource'))
    add('a complete resource, with apiVersion, kind, and metadata');
  if (more) add(FURTHER_RULES);
  return rules;
}

/** `asWritten` omits quotes for patterns, expressions, and names. */
type Add = (text: string, values?: readonly JsonValue[], asWritten?: boolean) => void;

function addValues(part: JsonObject, add: Add): void {
  const type = keyword(part, 'type');
  if (type !== undefined && !(OPEN_API_TYPES as readonly JsonValue[]).includes(type)) {
    add('has a type that OpenAPI does not define:', [type], true);
  }
  const allowed = keyword(part, 'enum') as JsonValue[] | undefined;
  if (allowed !== undefined && allowed.length > 0) add(allowed.length === 1 ? 'always' : 'one of', allowed);
  const format = keyword(part, 'format');
  if (typeof format === 'string')
    add(isUncheckedFormat(format) ? 'format, not checked by krmhub:' : 'format', [format], true);
  const pattern = keyword(part, 'pattern');
  if (typeof pattern === 'string') add('matches', [pattern], true);
  const example = keyword(part, 'example');
  if (example !== undefined) add('for example', [example]);
}

function addBounds(part: JsonObject, add: Add): void {
  const low = keyword(part, 'minimum');
  const high = keyword(part, 'maximum');
  const above = isSet(part, 'exclusiveMinimum');
  const below = isSet(part, 'exclusiveMaximum');
  if (low !== undefined && high !== undefined && !above && !below) add(`from ${low} to ${high}`);
  else {
    if (low !== undefined) add(`${above ? 'more than' : 'at least'} ${low}`);
    if (high !== undefined) add(`${below ? 'less than' : 'at most'} ${high}`);
  }
  const step = keyword(part, 'multipleOf');
  if (step !== undefined) add(`a multiple of ${step}`);
  addCount(part, 'minLength', 'maxLength', ['character', 'characters'], add);
  addCount(part, 'minItems', 'maxItems', ['item', 'items'], add);
  addCount(part, 'minProperties', 'maxProperties', ['field', 'fields'], add);
}

function addCount(
  part: JsonObject,
  lower: 'minLength' | 'minItems' | 'minProperties',
  upper: 'maxLength' | 'maxItems' | 'maxProperties',
  [one, many]: readonly [string, string],
  add: Add,
): void {
  const low = keyword(part, lower) || undefined;
  const high = keyword(part, upper);
  const unit = (count: JsonValue): string => `${count} ${count === 1 ? one : many}`;
  if (low !== undefined && low === high) add(`exactly ${unit(low)}`);
  else if (low !== undefined && high !== undefined) add(`${low} to ${unit(high)}`);
  else if (low !== undefined) add(`at least ${unit(low)}`);
  else if (high !== undefined) add(`at most ${unit(high)}`);
}

function addCollections(part: JsonObject, add: Add): void {
  const listType = keyword(part, 'x-kubernetes-list-type');
  if (listType === 'set') add('list of type set: items are unique');
  else if (listType === 'map') {
    const keys = (keyword(part, 'x-kubernetes-list-map-keys') as string[] | undefined) ?? [];
    add('list of type map: items are identified by', keys, true);
  } else if (listType === 'atomic') add('list of type atomic: a merge replaces the whole list');
  if (keyword(part, 'x-kubernetes-map-type') === 'atomic') add('a merge replaces the whole map');
  if (isSet(part, 'uniqueItems')) add('items are unique');
}

/** Adds the CEL rules. Returns false if a rule is omitted or invalid. */
function addExpressions(part: JsonObject, add: Add): boolean {
  const validations = (keyword(part, VALIDATIONS) as JsonValue[] | undefined) ?? [];
  for (const validation of validations.slice(0, MAX_EXPRESSIONS)) {
    const rule = textField(validation, 'rule');
    if (rule === undefined) return false;
    const words = textField(validation, 'message')?.trim() || 'must satisfy';
    const isChecked = uncheckedRule(validation as JsonObject) === undefined;
    add(isChecked ? words : `${words} (not checked by krmhub)`, [rule], true);
  }
  return validations.length <= MAX_EXPRESSIONS;
}

/** Reports whether a schema has keywords that no rule describes, or keywords with values that readers ignore. */
function hasUndescribedKeywords(part: JsonObject): boolean {
  if (UNDESCRIBED_KEYWORDS.some((name) => keyword(part, name) !== undefined)) return true;
  return Object.keys(part).some((name) => {
    const value = part[name];
    if (value === null || value === undefined || name === 'deprecated') return false;
    if (!Object.hasOwn(OPEN_API_KEYWORDS, name))
      return !name.startsWith('x-') || name.startsWith('x-kubernetes-');
    return !isKeywordValue(value, OPEN_API_KEYWORDS[name as keyof typeof OPEN_API_KEYWORDS]);
  });
}

/** Reports whether a field is deprecated, by keyword or by its description as in Kubernetes. */
export function isDeprecated(parts: SchemaParts): boolean {
  return parts.some((part) => {
    const description = keyword(part, 'description');
    return (
      (Object.hasOwn(part, 'deprecated') && part.deprecated === true) ||
      (typeof description === 'string' &&
        /^\s*deprecated\b|\n\s*deprecated:/i.test(description.slice(0, 4_000)))
    );
  });
}

/** Returns the first description or title. */
export function findDescription(parts: SchemaParts): string | undefined {
  for (const name of ['description', 'title'] as const) {
    for (const part of parts) {
      const text = keyword(part, name);
      if (typeof text === 'string' && text.trim() !== '') return text.trim();
    }
  }
  return undefined;
}

export function findDefault(parts: SchemaParts): JsonValue | undefined {
  for (const part of parts) {
    const value = keyword(part, 'default');
    if (value !== undefined) return value;
  }
  return undefined;
}
