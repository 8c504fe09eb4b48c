import { BoundMethod } from '../values/builtin.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { suggest } from '../values/spelling.js';
import { typeName } from '../values/type-name.js';
import { HeapValue, type Value } from '../values/value.js';
import { typeMethods } from './method-tables.js';

/** Returns `value.name`: a field, or a method bound to the value. Undefined if there is none. */
export function findAttribute(value: Value, name: string): Value | undefined {
  const field = value instanceof HeapValue ? value.attribute(name) : undefined;
  if (field !== undefined) return field;
  const body = typeMethods(value)?.get(name);
  return body === undefined ? undefined : new BoundMethod(name, value, body);
}

/** Returns `value.name`. Throws if there is no such field or method, with a suggestion. */
export function getAttribute(value: Value, name: string): Value {
  const found = findAttribute(value, name);
  if (found !== undefined) return found;
  const suggestion = suggest(name, attributeNames(value), '.');
  throw new EvaluationError(`${typeName(value)} has no .${name} field or method${suggestion}`);
}

/** Returns the names of the fields and methods of a value, sorted. */
export function attributeNames(value: Value): readonly string[] {
  const fields = value instanceof HeapValue ? value.attributeNames() : [];
  return [...fields, ...(typeMethods(value)?.keys() ?? [])].sort();
}
