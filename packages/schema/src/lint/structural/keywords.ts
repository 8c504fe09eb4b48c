import { defined } from '../../defined.js';
import type { Path } from '../../diagnostics/diagnostic.js';
import { quote } from '../../diagnostics/quote.js';
import type { JsonValue } from '../../documents/definition.js';
import { isObject } from '../../json/access.js';
import type { KeywordValue, OpenApiKeyword } from '../../json-schema/open-api.js';
import { isKeywordValue, OPEN_API_KEYWORDS, OPEN_API_TYPES } from '../../json-schema/open-api.js';
import { foldCase } from '../../names/fold-case.js';
import { suggest } from '../../names/suggest.js';
import type { Report } from '../rule.js';
import type { SchemaCheck } from './nodes.js';
import { META_TYPES } from './structure.js';

const FORBIDDEN: Partial<Record<OpenApiKeyword, string>> = {
  $ref: 'Replace the reference with the schema that it points to.',
  $schema: 'Remove it: all schemas of definitions are OpenAPI v3.',
  id: 'Remove it: a schema inside a definition has no URL.',
  definitions: 'Copy each schema to where it is used.',
  dependencies: 'Describe it in `description`, or use anyOf with `required`.',
  patternProperties: 'Use `additionalProperties` for a map.',
  additionalItems: 'Use `items` with one schema for all items.',
};

/** Keywords and types of other schema languages, with their replacements. */
const TYPE_HINTS: Record<string, string> = {
  bool: 'Use `boolean`.',
  int: 'Use `integer`.',
  int32: 'Use `type: integer` and `format: int32`.',
  int64: 'Use `type: integer` and `format: int64`.',
  long: 'Use `integer`.',
  float: 'Use `number`.',
  double: 'Use `number`.',
  str: 'Use `string`.',
  text: 'Use `string`.',
  date: 'Use `type: string` and `format: date`.',
  map: 'Use `object` with `additionalProperties`.',
  dict: 'Use `object` with `additionalProperties`.',
  list: 'Use `array` with `items`.',
  null: 'Set the type of the value, and `nullable: true`.',
  any: 'Remove the type, and add `x-kubernetes-preserve-unknown-fields: true`.',
  'int-or-string': 'Remove the type, and add `x-kubernetes-int-or-string: true`.',
};

const KEYWORD_HINTS: Record<string, string> = {
  const: 'Use `enum` with one value.',
  examples: 'Use `example` with one value.',
  $defs: FORBIDDEN.definitions!,
  $id: FORBIDDEN.id!,
  if: 'Use anyOf or oneOf.',
  readOnly: 'Move it to `description`.',
  deprecated: 'Move it to `description`.',
};

const VALUE_TYPES: Record<KeywordValue, string> = {
  any: 'any value',
  text: 'a string',
  flag: 'true or false',
  number: 'a number',
  count: 'an integer of 0 or more',
  list: 'a list',
  texts: 'a list of strings',
  schema: 'a schema',
  schemas: 'a list of schemas',
  schemaMap: 'a mapping of schemas',
  mapping: 'a mapping',
  schemaOrFlag: 'a schema, true, or false',
};

/** Checks for unknown and forbidden keywords, values of the wrong type, and unknown types. */
export const keywords: SchemaCheck = (nodes, report) => {
  const rootLength = nodes[0]?.path.length ?? 0;
  for (const { schema, path, name: field = '' } of nodes) {
    const ofResource = path.length === rootLength + 2 && Object.hasOwn(META_TYPES, field);
    for (const name of Object.keys(schema)) {
      const value = schema[name]!;
      const at = [...path, name];
      if (name === 'type' && ofResource && typeof value === 'string')
        checkType(
          value,
          at,
          report,
          `Use \`${META_TYPES[field as keyof typeof META_TYPES]}\`, as in every resource.`,
        );
      else if (Object.hasOwn(OPEN_API_KEYWORDS, name))
        checkKeyword(name as OpenApiKeyword, value, at, report);
      else if (!name.startsWith('x-') || name.startsWith('x-kubernetes-')) reportUnknown(name, at, report);
    }
  }
};

const BY_FOLDED_NAME = new Map(Object.keys(OPEN_API_KEYWORDS).map((name) => [foldCase(name), name]));

function reportUnknown(name: string, path: Path, report: Report): void {
  const other = BY_FOLDED_NAME.get(foldCase(name));
  if (other !== undefined) {
    const message = `schemas have no keyword ${quote(name)}, but some tools read it as \`${other}\``;
    report('schema/keyword-case', path, message, { hint: `Write \`${other}\`, once.`, target: 'key' });
    return;
  }
  const near = suggest(name, Object.keys(OPEN_API_KEYWORDS));
  const known = Object.hasOwn(KEYWORD_HINTS, name) ? KEYWORD_HINTS[name] : undefined;
  const hint = known ?? (near === undefined ? undefined : `Did you mean ${near}?`);
  report('schema/unknown-keyword', path, `unknown keyword ${quote(name)}, which tools ignore`, {
    ...defined({ hint }),
    target: 'key',
  });
}

function checkKeyword(name: OpenApiKeyword, value: JsonValue, path: Path, report: Report): void {
  // Kubernetes treats null as an absent keyword.
  if (value === null) return;
  const hint = FORBIDDEN[name];
  if (hint !== undefined) {
    const message = `structural schemas forbid \`${name}\``;
    report('schema/forbidden-keyword', path, message, { hint, target: 'key' });
    return;
  }
  if (name === 'items' && Array.isArray(value)) {
    const message = 'structural schemas forbid a list of schemas as `items`';
    report('schema/forbidden-keyword', path, message, {
      hint: 'Use one schema for all items.',
      target: 'key',
    });
    return;
  }
  if (name === 'uniqueItems' && value === true) {
    report('schema/forbidden-keyword', path, 'structural schemas forbid `uniqueItems: true`', {
      hint: 'Use `x-kubernetes-list-type: set`.',
      target: 'key',
    });
    return;
  }
  const kind = OPEN_API_KEYWORDS[name];
  if (!isKeywordValue(value, kind)) {
    report('schema/keyword-value', path, `\`${name}\` must be ${VALUE_TYPES[kind]}`);
    return;
  }
  if (name === 'type') checkType(value as string, path, report);
  if (kind === 'schemas' || kind === 'schemaMap') checkInner(name, value, path, report);
}

function checkType(type: string, path: Path, report: Report, hint?: string): void {
  if ((OPEN_API_TYPES as readonly string[]).includes(type)) return;
  const near = suggest(type, OPEN_API_TYPES);
  const known = Object.hasOwn(TYPE_HINTS, type.toLowerCase()) ? TYPE_HINTS[type.toLowerCase()]! : undefined;
  report('schema/unknown-type', path, `unknown type ${quote(type)}`, {
    hint:
      hint ??
      known ??
      (near === undefined ? `Use one of ${OPEN_API_TYPES.join(', ')}.` : `Did you mean ${near}?`),
  });
}

/** Checks that the items of a list or mapping of schemas are schemas. Null means an empty one. */
function checkInner(name: string, value: JsonValue, path: Path, report: Report): void {
  const members: [string | number, JsonValue][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value as Record<string, JsonValue>);
  for (const [key, member] of members) {
    if (isObject(member)) continue;
    report('schema/keyword-value', [...path, key], `every item of \`${name}\` must be a schema`);
  }
}
