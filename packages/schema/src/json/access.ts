/**
 * Reads JSON values of unknown structure.
 *
 * @module
 */

import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the own field of an object, without inherited properties such as `constructor`. */
export function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function objectField(value: JsonValue | undefined, name: string): JsonObject | undefined {
  const found = field(value, name);
  return isObject(found) ? found : undefined;
}

export function textField(value: JsonValue | undefined, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === 'string' ? found : undefined;
}

export function listField(value: JsonValue | undefined, name: string): JsonValue[] {
  const found = field(value, name);
  return Array.isArray(found) ? found : [];
}

export interface VersionAt {
  version: JsonObject;
  path: Path;
}

/** Returns the API versions of a definition that are objects, with their paths. */
export function listVersions(spec: JsonObject): VersionAt[] {
  return listField(spec, 'versions').flatMap((version, index) =>
    isObject(version) ? [{ version, path: ['versions', index] }] : [],
  );
}
