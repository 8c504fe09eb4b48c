import type { JsonObject, JsonValue } from '../documents/definition.js';
import { isObject } from '../json/access.js';
import { type CheckedDefinition, configSchema } from './check-config.js';
import { declaredFields, expandAllOf, innerSchemas, isOpen, type SchemaParts } from './schema-parts.js';

/** Every resource has these. */
const RESOURCE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
/** Names of other fields are not in paths. */
const PLAIN_NAME = /^[\w$-]+$/;

/**
 * Returns the paths of the fields that a functionConfig sets, sorted, without any text of the user: `labels.*` for the
 * keys of a map, and `items[*].name` for fields of the items of a list. At most `max`. Throws a `not-found` KrmhubError
 * for an unknown API version.
 */
export function usedFields(
  definition: CheckedDefinition,
  versionName: string,
  config: JsonObject,
  max: number,
): string[] {
  const found = new Set<string>();
  const visit = (schemas: SchemaParts, value: JsonValue, path: string): void => {
    const { parts } = expandAllOf(schemas);
    if (Array.isArray(value)) {
      const items = innerSchemas(parts, 'items');
      if (items !== undefined) for (const item of value) visit(items, item, `${path}[*]`);
      return;
    }
    if (!isObject(value)) return;
    const declared = declaredFields(parts);
    for (const [name, inner] of Object.entries(value)) {
      if (found.size >= max) return;
      const own = declared.get(name);
      if (path === '' && RESOURCE_FIELDS.has(name)) continue;
      if (own !== undefined && !PLAIN_NAME.test(name)) continue;
      const step = own === undefined ? '*' : name;
      const place = path === '' ? step : `${path}.${step}`;
      found.add(place);
      const schemasOfIt = own ?? innerSchemas(parts, 'additionalProperties');
      if (schemasOfIt !== undefined) visit(schemasOfIt, inner, place);
    }
  };
  visit([configSchema(definition, versionName)], config, '');
  return [...found].sort();
}

/** Reports whether an API version declares, or accepts, a field with a path of `usedFields`. */
export function acceptsField(definition: CheckedDefinition, versionName: string, path: string): boolean {
  let schemas: SchemaParts = [configSchema(definition, versionName)];
  for (const step of path.replaceAll('[*]', '.[*]').split('.')) {
    const { parts } = expandAllOf(schemas);
    const inner =
      step === '[*]'
        ? innerSchemas(parts, 'items')
        : (declaredFields(parts).get(step) ?? innerSchemas(parts, 'additionalProperties'));
    // What is open says nothing about the fields below.
    if (inner === undefined) return step === '[*]' || isOpen(parts);
    schemas = inner;
  }
  return true;
}
