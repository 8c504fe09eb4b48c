import type { Path } from '../../diagnostics/diagnostic.js';
import { quote } from '../../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../../documents/definition.js';
import {
  isSet,
  keyword,
  PROTOTYPE_NAMES,
  schemaProperties,
  schemaProperty,
  schemaType,
} from '../../json-schema/open-api.js';
import type { Report } from '../rule.js';
import type { SchemaCheck, SchemaNode } from './nodes.js';
import { mayBeUndeclared, requiredNames } from './structure.js';

const RANGES = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minProperties', 'maxProperties'],
] as const;

/** Checks for contradicting keywords and forbidden field names. */
export const values: SchemaCheck = (nodes, report) => {
  for (const node of nodes) {
    const { schema, path } = node;
    checkRequired(node, report);
    checkRanges(schema, path, report);
    checkNames(schema, path, report);
    const allowed = keyword(schema, 'enum') as JsonValue[] | undefined;
    if (isSet(schema, 'nullable') && allowed !== undefined && !allowed.includes(null)) {
      const message = '`nullable: true` is next to an `enum` without null, which tools interpret differently';
      report('schema/nullable-enum', [...path, 'nullable'], message, {
        hint: 'Add null to the enum, or remove `nullable`.',
        target: 'key',
      });
    }
    const format = keyword(schema, 'format');
    if (schemaType(schema) === 'number' && (format === 'int32' || format === 'int64')) {
      const message = `a number with the format ${quote(format)} is an integer`;
      report('schema/number-for-integer', [...path, 'type'], message, { hint: 'Use `type: integer`.' });
    }
  }
};

function checkRequired(node: SchemaNode, report: Report): void {
  if (node.level === 'junctor') return;
  for (const { name, path } of requiredNames(node)) {
    const property = schemaProperty(node.schema, name);
    if (property === undefined) {
      if (mayBeUndeclared(node, name)) continue;
      const message = `\`required\` contains ${quote(name)}, which \`properties\` does not declare`;
      report('schema/required-undeclared', path, message);
    } else if (keyword(property, 'default') !== undefined) {
      const message = `${quote(name)} is required and has a default, which some tools do not apply`;
      report('schema/default-required', path, message, {
        hint: 'Remove it from `required`, or remove its default.',
      });
    }
  }
}

function checkRanges(schema: JsonObject, path: Path, report: Report): void {
  for (const [lower, upper] of RANGES) {
    const low = keyword(schema, lower);
    const high = keyword(schema, upper);
    if (typeof low !== 'number' || typeof high !== 'number') continue;
    const open =
      lower === 'minimum' && (isSet(schema, 'exclusiveMinimum') || isSet(schema, 'exclusiveMaximum'));
    if (low < high || (low === high && !open)) continue;
    const message = `no value is valid: ${lower} is ${low} and ${upper} is ${high}${open ? ', one of them exclusive' : ''}`;
    report('schema/empty-range', [...path, lower], message);
  }
}

function checkNames(schema: JsonObject, path: Path, report: Report): void {
  for (const name of Object.keys(schemaProperties(schema))) {
    if (!PROTOTYPE_NAMES.has(name)) continue;
    report('schema/prototype-name', [...path, 'properties', name], `a field cannot be named ${quote(name)}`, {
      target: 'key',
    });
  }
}
