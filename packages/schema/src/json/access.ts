import type { Path } from '../diagnostics/diagnostic.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';

/** Reading values whose shape has not been checked. */

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object's own field; what it inherits, such as `constructor`, is no field. */
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

/** The API versions of a definition that are objects, with their paths. */
export function versionsOf(spec: JsonObject): VersionAt[] {
  return listField(spec, 'versions').flatMap((version, index) =>
    isObject(version) ? [{ version, path: ['versions', index] }] : [],
  );
}
