import type { JsonObject, JsonValue } from '@krmhub/schema';
import { isObject } from '@krmhub/schema/json/access';
import { readPath, type ScimPath } from './read-path.js';
import { ScimError } from './scim-error.js';

export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: ScimPath;
  /** Undefined if the operation has none. */
  value: JsonValue | undefined;
}

const MAX_OPERATIONS = 1_000;
const OPS: readonly string[] = ['add', 'replace', 'remove'];

/**
 * Reads the operations of a PATCH, each for one attribute. An operation without a path has an object whose keys are
 * paths, as Okta and Microsoft Entra ID send it. Attributes that the registry does not have are left out.
 */
export function readPatch(body: JsonObject, isKnown: (attribute: string) => boolean): Operation[] {
  const operations = field(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new ScimError('invalidSyntax', 'the body has no list of Operations');
  }
  if (operations.length > MAX_OPERATIONS) {
    throw new ScimError('invalidSyntax', `a request has at most ${MAX_OPERATIONS} operations`);
  }
  return operations.flatMap((operation, index) => {
    if (!isObject(operation)) throw new ScimError('invalidSyntax', `operation ${index + 1} is not an object`);
    return readOperation(operation, index + 1, isKnown);
  });
}

function readOperation(
  operation: JsonObject,
  number: number,
  isKnown: (attribute: string) => boolean,
): Operation[] {
  const op = String(field(operation, 'op')).toLowerCase();
  if (!OPS.includes(op)) {
    throw new ScimError('invalidSyntax', `operation ${number}: op is not add, replace, or remove`);
  }
  const [path, value] = [field(operation, 'path'), field(operation, 'value')];
  const verb = op as Operation['op'];
  if (typeof path === 'string') {
    const read = readPath(path, isKnown);
    return read === undefined ? [] : [{ op: verb, path: read, value }];
  }
  if (path !== undefined && path !== null) {
    throw new ScimError('invalidPath', `operation ${number}: path is not a text`);
  }
  if (verb === 'remove') throw new ScimError('noTarget', `operation ${number}: remove needs a path`);
  if (!isObject(value)) {
    throw new ScimError('invalidValue', `operation ${number} has no path, so its value must be an object`);
  }
  return readResource(value, isKnown, verb);
}

/** Reads a resource, or a part of it, as operations. */
export function readResource(
  resource: JsonObject,
  isKnown: (attribute: string) => boolean,
  op: 'add' | 'replace' = 'replace',
): Operation[] {
  const keys = Object.keys(resource);
  if (keys.length > MAX_OPERATIONS)
    throw new ScimError('invalidSyntax', 'the object has too many attributes');
  return keys.flatMap((key) => {
    const path = readPath(key, isKnown);
    return path === undefined ? [] : [{ op, path, value: resource[key] }];
  });
}

/** Throws `invalidPath` for a part of an attribute that is a plain value, because `complex` does not have it. */
export function refuseParts(
  { path: { attribute, filter, sub } }: Operation,
  complex: readonly string[],
): void {
  if (complex.includes(attribute) || (filter === undefined && sub === undefined)) return;
  throw new ScimError('invalidPath', `${attribute} is a plain value, and has no parts`);
}

/** Returns a field by its name in lower case: the names of SCIM have any. */
export function field(object: JsonObject, name: string): JsonValue | undefined {
  const key = Object.keys(object).find((one) => one.toLowerCase() === name);
  return key === undefined ? undefined : object[key];
}
