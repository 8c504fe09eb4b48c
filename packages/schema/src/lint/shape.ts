import { describeValue } from '../diagnostics/describe-value.js';
import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { field, isObject, listField, objectField, textField } from '../json/access.js';
import { definitionSpecJsonSchema } from '../json-schema/definition.js';
import { suggest } from '../names/suggest.js';
import type { Report, Rule } from './rule.js';

/**
 * Checks fields, types, enums, and empty lists with the JSON Schema of a definition. Walking the schema here, without a
 * validator, allows one plain message per problem. Other rules check patterns.
 */
export const shape: Rule = (draft, report) => check(draft.spec, definitionSpecJsonSchema, [], report);

function check(value: JsonValue, schema: JsonObject, path: Path, report: Report): void {
  const type = textField(schema, 'type') ?? 'object';
  const label = fieldLabel(path);
  if (jsonType(value) !== type) {
    report('shape/wrong-type', path, `${label} must be ${TYPE_NAMES[type]}, not ${describeValue(value)}`, {
      ...descriptionHint(schema),
    });
    return;
  }
  if (typeof value === 'string') checkText(value, schema, path, report);
  if (Array.isArray(value)) {
    if (value.length === 0 && field(schema, 'minItems') === 1) {
      report('shape/empty', path, `${label} is empty`, descriptionHint(schema));
    }
    const items = objectField(schema, 'items');
    if (items !== undefined) {
      for (const [index, item] of value.entries()) check(item, items, [...path, index], report);
    }
  }
  const properties = objectField(schema, 'properties');
  if (isObject(value) && properties !== undefined) checkFields(value, schema, properties, path, report);
}

function checkText(value: string, schema: JsonObject, path: Path, report: Report): void {
  if (value.trim() === '' && field(schema, 'minLength') === 1) {
    report('shape/empty', path, `${fieldLabel(path)} is empty`, descriptionHint(schema));
    return;
  }
  const allowed = field(schema, 'enum');
  if (!Array.isArray(allowed) || allowed.includes(value)) return;
  const names = allowed.filter((name) => typeof name === 'string');
  const near = suggest(value, names);
  const message = `${fieldLabel(path)} is ${quote(value)}; expected one of ${names.join(', ')}`;
  report('shape/unknown-value', path, message, near === undefined ? {} : { hint: `Did you mean ${near}?` });
}

function checkFields(
  value: JsonObject,
  schema: JsonObject,
  properties: JsonObject,
  path: Path,
  report: Report,
): void {
  const names = Object.keys(properties);
  const misspelled = new Map<string, string>();
  for (const name of Object.keys(value)) {
    const near = objectField(properties, name) === undefined ? suggest(name, names) : undefined;
    if (near !== undefined) misspelled.set(name, near);
  }
  const meant = new Set(misspelled.values());
  for (const name of listField(schema, 'required')) {
    if (typeof name !== 'string' || !isMissing(value, name)) continue;
    // The field exists with a misspelled name, which is reported below.
    if (meant.has(name) && !Object.hasOwn(value, name)) continue;
    const at = [...path, name];
    const message = Object.hasOwn(value, name)
      ? `${fieldLabel(at)} has no value`
      : `${fieldLabel(at)} is missing`;
    report('shape/missing-field', at, message, {
      ...descriptionHint(field(properties, name)),
      target: 'key',
    });
  }
  for (const name of Object.keys(value)) {
    const at = [...path, name];
    const known = objectField(properties, name);
    if (known !== undefined) {
      // A required key without a value is reported as missing.
      if (value[name] !== null || !listField(schema, 'required').includes(name)) {
        check(value[name]!, known, at, report);
      }
      continue;
    }
    const near = misspelled.get(name);
    const where = path.length === 0 ? 'a function definition' : fieldLabel(path);
    report('shape/unknown-field', at, `${where} has no field ${quote(name)}`, {
      hint: near === undefined ? `Known fields: ${names.join(', ')}.` : `Did you mean ${near}?`,
      target: 'key',
    });
  }
}

function isMissing(value: JsonObject, name: string): boolean {
  return !Object.hasOwn(value, name) || value[name] === null;
}

/** Returns the last names of a path: `runtime.container`, `examples[0]`. */
function fieldLabel(path: Path): string {
  if (path.length === 0) return 'the definition';
  const last = path.at(-1)!;
  return typeof last === 'number' ? `\`${path.at(-2)}[${last}]\`` : `\`${last}\``;
}

function descriptionHint(schema: JsonValue | undefined): { hint?: string } {
  const description = textField(schema, 'description');
  return description === undefined ? {} : { hint: description };
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
};

function jsonType(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
