import { BoundMethod, type MethodTable, methodTable } from '../values/builtin.js';
import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { List } from '../values/list.js';
import { StarlarkSet } from '../values/set.js';
import { suggest } from '../values/spelling.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { HeapValue, typeName, type Value } from '../values/value.js';
import { DICT_METHODS } from './dict-methods.js';
import { LIST_METHODS } from './list-methods.js';
import { SET_METHODS } from './set-methods.js';
import { STRING_METHODS } from './string-methods.js';
import { Elements } from './strings.js';

/** Returns the methods of the type of a value, or undefined for a type without methods. */
export function typeMethods(value: Value): MethodTable | undefined {
  if (typeof value === 'string') return STRING_METHODS;
  if (value instanceof List) return LIST_METHODS;
  if (value instanceof Dict) return DICT_METHODS;
  if (value instanceof StarlarkSet) return SET_METHODS;
  return value instanceof Bytes ? BYTES_METHODS : undefined;
}

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

const BYTES_METHODS = methodTable<Bytes>([
  [
    'elems',
    (_thread, bytes, args, kwargs) => {
      checkPositional('elems', args, kwargs, 0, 0);
      return new Elements(bytes, 'elems');
    },
  ],
]);
