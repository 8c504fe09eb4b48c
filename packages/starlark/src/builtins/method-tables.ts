import type { MethodTable } from '../values/builtin.js';
import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { List } from '../values/list.js';
import { StarlarkSet } from '../values/set.js';
import type { Value } from '../values/value.js';
import { BYTES_METHODS } from './bytes-methods.js';
import { DICT_METHODS } from './dict-methods.js';
import { LIST_METHODS } from './list-methods.js';
import { SET_METHODS } from './set-methods.js';
import { STRING_METHODS } from './string-methods.js';

/** Returns the methods of the type of a value, or undefined for a type without methods. */
export function typeMethods(value: Value): MethodTable | undefined {
  if (typeof value === 'string') return STRING_METHODS;
  if (value instanceof List) return LIST_METHODS;
  if (value instanceof Dict) return DICT_METHODS;
  if (value instanceof StarlarkSet) return SET_METHODS;
  return value instanceof Bytes ? BYTES_METHODS : undefined;
}
