import type { Path } from '../../diagnostics/diagnostic.js';
import { quote } from '../../diagnostics/quote.js';
import type { JsonObject } from '../../documents/definition.js';
import {
  isSet,
  keyword,
  OPEN_API_TYPES,
  requiredProperties,
  schemaProperties,
  schemaProperty,
  schemaType,
  subschema,
} from '../../json-schema/open-api.js';
import type { Report } from '../rule.js';
import type { SchemaCheck, SchemaNode } from './nodes.js';

/** The types of fields that every resource has. */
export const META_TYPES = { apiVersion: 'string', kind: 'string', metadata: 'object' } as const;
const META_NAMES = Object.keys(META_TYPES);

/** Checks that a schema is structural: an object at the root, and a type for every value. */
export const structure: SchemaCheck = (nodes, report) => {
  for (const node of nodes) {
    if (node.level === 'junctor') continue;
    const { schema, path } = node;
    if (node.level === 'root') checkRoot(schema, path, report);
    checkType(node, report);
    checkMap(schema, path, report);
    if (node.level === 'root' || isSet(schema, 'x-kubernetes-embedded-resource')) {
      checkMetaTypes(schema, path, report);
    }
  }
};

function checkRoot(schema: JsonObject, path: Path, report: Report): void {
  const type = schemaType(schema);
  if (type !== undefined && type !== 'object' && (OPEN_API_TYPES as readonly string[]).includes(type)) {
    const message = `the root has the type ${quote(type)}, but a functionConfig is an object`;
    report('schema/root-type', [...path, 'type'], message, { hint: 'Use `object`.' });
  }
  for (const name of ['additionalProperties', 'nullable'] as const) {
    const value = keyword(schema, name);
    if (value === undefined || (name === 'nullable' && value === false)) continue;
    report('schema/root-restriction', [...path, name], `\`${name}\` is not allowed at the root`, {
      hint: 'Remove it.',
      target: 'key',
    });
  }
  checkRootMetadata(schema, path, report);
  checkOpen(schema, path, report);
}

/** Checks metadata: Kubernetes allows a schema to restrict only the name of a resource. */
function checkRootMetadata(schema: JsonObject, path: Path, report: Report): void {
  const metadata = schemaProperty(schema, 'metadata');
  if (metadata === undefined) return;
  const at = [...path, 'properties', 'metadata'];
  for (const name of Object.keys(metadata)) {
    if (metadata[name] === null || name === 'type' || name === 'description' || name === 'properties')
      continue;
    const message = `\`metadata\` at the root cannot have \`${name}\`: only name and generateName are allowed`;
    report('schema/meta-restriction', [...at, name], message, { target: 'key' });
  }
  for (const name of Object.keys(schemaProperties(metadata))) {
    if (name === 'name' || name === 'generateName') continue;
    const message = `\`metadata\` at the root cannot restrict \`${name}\`: only name and generateName are allowed`;
    report('schema/meta-restriction', [...at, 'properties', name], message, { target: 'key' });
  }
}

function checkOpen(schema: JsonObject, path: Path, report: Report): void {
  const fields = Object.keys(schemaProperties(schema)).filter((name) => !META_NAMES.includes(name));
  const preserves = isSet(schema, 'x-kubernetes-preserve-unknown-fields');
  const declaresNothing = keyword(schema, 'properties') === undefined;
  if (fields.length > 0 || !(preserves || declaresNothing)) return;
  if (keyword(schema, 'additionalProperties') !== undefined) return;
  report('schema/open', path, 'the schema declares no fields, so it accepts any functionConfig', {
    hint: 'Declare the fields of the functionConfig in `properties`.',
    target: 'key',
  });
}

function checkType({ schema, path, level, name }: SchemaNode, report: Report): void {
  const type = schemaType(schema);
  const free =
    isSet(schema, 'x-kubernetes-int-or-string') || isSet(schema, 'x-kubernetes-preserve-unknown-fields');
  if (type === undefined && !free && !isPresent(schema, 'type')) {
    const what =
      level === 'root'
        ? 'the root'
        : level === 'items'
          ? 'the schema of the items'
          : `the field ${quote(name ?? '')}`;
    report('schema/missing-type', [...path, 'type'], `${what} has no type`, {
      hint: level === 'root' ? 'Add `type: object`.' : guessType(schema),
      target: 'key',
    });
  }
  if (type === 'array' && !isPresent(schema, 'items')) {
    const message = 'the array has no schema for its items';
    report('schema/array-without-items', path, message, { hint: 'Add `items`.', target: 'key' });
  }
}

function guessType(schema: JsonObject): string {
  if (isPresent(schema, 'properties') || isPresent(schema, 'additionalProperties'))
    return 'Add `type: object`.';
  if (isPresent(schema, 'items')) return 'Add `type: array`.';
  return 'Add `type`, or `x-kubernetes-preserve-unknown-fields: true` to accept any value.';
}

/** Reports whether a keyword exists. A value of the wrong type is already reported. */
function isPresent(schema: JsonObject, name: string): boolean {
  return Object.hasOwn(schema, name) && schema[name] !== null;
}

function checkMap(schema: JsonObject, path: Path, report: Report): void {
  const values = keyword(schema, 'additionalProperties');
  if (values === undefined || values === true) return;
  const hasProperties = Object.keys(schemaProperties(schema)).length > 0;
  if (values !== false && !hasProperties) return;
  const message =
    values === false
      ? '`additionalProperties: false` is not allowed here: objects with `properties` are already closed'
      : '`additionalProperties` cannot be combined with `properties`: an object is either a map or has named fields';
  report('schema/properties-and-map', [...path, 'additionalProperties'], message, {
    hint: hasProperties ? 'Remove `additionalProperties`.' : 'Declare the fields in `properties`.',
    target: 'key',
  });
}

function checkMetaTypes(schema: JsonObject, path: Path, report: Report): void {
  for (const [name, expected] of Object.entries(META_TYPES)) {
    const declared = schemaProperty(schema, name);
    const type = declared === undefined ? undefined : schemaType(declared);
    if (type === undefined || type === expected || !OPEN_API_TYPES.some((known) => known === type)) continue;
    const message = `\`${name}\` of a resource has the type ${quote(expected)}, not ${quote(type)}`;
    report('schema/meta-type', [...path, 'properties', name, 'type'], message);
  }
}

/** Reports whether a required name is valid without a declaration. */
export function mayBeUndeclared({ schema, level }: SchemaNode, name: string): boolean {
  const meta = level === 'root' || isSet(schema, 'x-kubernetes-embedded-resource');
  return (
    (meta && META_NAMES.includes(name)) ||
    isSet(schema, 'x-kubernetes-preserve-unknown-fields') ||
    keyword(schema, 'additionalProperties') === true ||
    subschema(schema, 'additionalProperties') !== undefined
  );
}

/** Returns the names in `required` of a node, with their positions. */
export function requiredNames({ schema, path }: SchemaNode): { name: string; path: Path }[] {
  return requiredProperties(schema).map((name, index) => ({ name, path: [...path, 'required', index] }));
}
