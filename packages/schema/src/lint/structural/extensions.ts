import type { Path } from '../../diagnostics/diagnostic.js';
import { quote } from '../../diagnostics/quote.js';
import type { JsonObject } from '../../documents/definition.js';
import type { OpenApiKeyword } from '../../json-schema/open-api.js';
import {
  isSet,
  keyword,
  requiredProperties,
  schemaProperties,
  schemaProperty,
  schemaType,
  subschema,
} from '../../json-schema/open-api.js';
import type { Report } from '../rule.js';
import type { SchemaCheck } from './nodes.js';

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const EMBEDDED = 'x-kubernetes-embedded-resource';
const INT_OR_STRING = 'x-kubernetes-int-or-string';
const LIST_TYPE = 'x-kubernetes-list-type';
const MAP_KEYS = 'x-kubernetes-list-map-keys';
const MAP_TYPE = 'x-kubernetes-map-type';
const SCALARS = new Set(['boolean', 'integer', 'number', 'string']);

/** Checks the `x-kubernetes-` keywords: their values, and the keywords that they require. */
export const extensions: SchemaCheck = (nodes, report) => {
  for (const { schema, path, level } of nodes) {
    if (level === 'junctor') continue;
    checkFlags(schema, path, report);
    checkKeywordType(schema, LIST_TYPE, ['atomic', 'set', 'map'], 'array', path, report);
    checkKeywordType(schema, MAP_TYPE, ['granular', 'atomic'], 'object', path, report);
    checkList(schema, path, report);
  }
};

function checkFlags(schema: JsonObject, path: Path, report: Report): void {
  const wrong = (name: string, message: string): void =>
    report('schema/extension', [...path, name], message, { target: 'key' });
  if (keyword(schema, PRESERVE) === false)
    wrong(PRESERVE, `\`${PRESERVE}\` must be true, or must not be set`);
  if (isSet(schema, INT_OR_STRING)) {
    if (schemaType(schema) !== undefined)
      wrong('type', `\`type\` cannot be combined with \`${INT_OR_STRING}\``);
    for (const name of [PRESERVE, EMBEDDED] as const) {
      if (isSet(schema, name)) wrong(name, `\`${name}\` cannot be combined with \`${INT_OR_STRING}\``);
    }
  }
  if (!isSet(schema, EMBEDDED)) return;
  if (schemaType(schema) !== 'object') wrong('type', `an embedded resource requires \`type: object\``);
  if (subschema(schema, 'additionalProperties') !== undefined) {
    wrong('additionalProperties', 'an embedded resource cannot be a map');
  }
  if (Object.keys(schemaProperties(schema)).length === 0 && !isSet(schema, PRESERVE)) {
    wrong('properties', `an embedded resource requires \`properties\` or \`${PRESERVE}: true\``);
  }
}

function checkKeywordType(
  schema: JsonObject,
  name: OpenApiKeyword,
  values: readonly string[],
  type: string,
  path: Path,
  report: Report,
): void {
  const value = keyword(schema, name);
  if (typeof value !== 'string') return;
  if (!values.includes(value)) {
    const message = `\`${name}\` is ${quote(value)}; expected one of ${values.join(', ')}`;
    report('schema/extension', [...path, name], message);
  }
  if (schemaType(schema) !== type) {
    report('schema/extension', [...path, 'type'], `\`${name}\` requires \`type: ${type}\``, {
      target: 'key',
    });
  }
}

function checkList(schema: JsonObject, path: Path, report: Report): void {
  const listType = keyword(schema, LIST_TYPE);
  const keys = keyword(schema, MAP_KEYS) as string[] | undefined;
  const wrong = (below: Path, message: string): void =>
    report('schema/list-type', [...path, ...below], message, { target: 'key' });
  if (keys !== undefined && keys.length > 0 && listType !== 'map') {
    wrong([LIST_TYPE], `\`${MAP_KEYS}\` requires \`${LIST_TYPE}: map\``);
  }
  if (listType !== 'map' && listType !== 'set') return;
  const items = subschema(schema, 'items');
  if (items !== undefined && isSet(items, 'nullable')) {
    wrong(['items', 'nullable'], `the items of a ${listType} cannot be null`);
  }
  if (listType === 'set') {
    if (items !== undefined) checkSetItems(items, wrong);
    return;
  }
  if (keys === undefined || keys.length === 0) {
    wrong([MAP_KEYS], `a list of type map requires \`${MAP_KEYS}\``);
  }
  if (items === undefined) wrong(['items'], 'a list of type map requires `items`');
  else if (schemaType(items) !== 'object')
    wrong(['items', 'type'], 'the items of a list of type map must be objects');
  else checkMapKeys(keys ?? [], items, wrong);
}

type Wrong = (below: Path, message: string) => void;

function checkSetItems(items: JsonObject, wrong: Wrong): void {
  if (schemaType(items) === 'object' && keyword(items, MAP_TYPE) !== 'atomic') {
    wrong(['items', MAP_TYPE], `objects in a set require \`${MAP_TYPE}: atomic\``);
  }
  const inner = keyword(items, LIST_TYPE);
  if (schemaType(items) === 'array' && inner !== undefined && inner !== 'atomic') {
    wrong(['items', LIST_TYPE], `lists in a set require \`${LIST_TYPE}: atomic\``);
  }
}

function checkMapKeys(keys: readonly string[], items: JsonObject, wrong: Wrong): void {
  const required = requiredProperties(items);
  const seen = new Set<string>();
  keys.forEach((key, index) => {
    const at = [MAP_KEYS, index];
    if (seen.has(key)) wrong(at, `the map key ${quote(key)} appears twice`);
    if (seen.has(key)) return;
    seen.add(key);
    const property = schemaProperty(items, key);
    if (property === undefined) {
      wrong(at, `the map key ${quote(key)} is not a property of the items`);
      return;
    }
    const below = ['items', 'properties', key];
    if (!SCALARS.has(schemaType(property) ?? ''))
      wrong([...below, 'type'], `the map key ${quote(key)} must be a scalar`);
    if (isSet(property, 'nullable'))
      wrong([...below, 'nullable'], `the map key ${quote(key)} cannot be null`);
    if (!required.includes(key) && keyword(property, 'default') === undefined) {
      wrong([...below, 'default'], `the map key ${quote(key)} must be required or have a default`);
    }
  });
}
