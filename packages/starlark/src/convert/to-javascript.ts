import { Bytes } from '../values/bytes.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { List } from '../values/list.js';
import { Range } from '../values/range.js';
import { StarlarkSet } from '../values/set.js';
import { stringToJs } from '../values/string.js';
import { Struct } from '../values/struct.js';
import type { Thread } from '../values/thread.js';
import { Tuple } from '../values/tuple.js';
import { HeapValue, typeName, type Value } from '../values/value.js';
import { MAX_CONVERSION_DEPTH } from './from-javascript.js';

/**
 * A JavaScript value that keeps what Starlark knows: dicts and structs are Maps in the same order, ints beyond the safe
 * ones are bigints. A float is a number.
 */
export type JavaScriptValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | JavaScriptValue[]
  | Map<JavaScriptValue, JavaScriptValue>;

/**
 * Returns the JavaScript value of a Starlark one. Throws for functions, modules, and values that contain themselves.
 */
export function toJavaScript(value: Value, thread?: Thread): JavaScriptValue {
  return convert(value, thread, 0);
}

function convert(value: Value, thread: Thread | undefined, depth: number): JavaScriptValue {
  if (typeof value === 'string') return stringToJs(value);
  if (!(value instanceof HeapValue)) return value;
  thread?.step(1);
  if (depth >= MAX_CONVERSION_DEPTH) {
    throw new EvaluationError('value contains itself or is nested too deeply to convert');
  }
  const inner = (item: Value) => convert(item, thread, depth + 1);
  if (value instanceof StarlarkFloat) return value.value;
  if (value instanceof Bytes) return value.value.slice();
  if (value instanceof Dict) {
    const map = new Map<JavaScriptValue, JavaScriptValue>();
    value.forEach((key, item) => {
      map.set(inner(key), inner(item));
    });
    return map;
  }
  if (value instanceof Struct) return new Map(value.fields().map(([name, item]) => [name, inner(item)]));
  if (
    value instanceof List ||
    value instanceof Tuple ||
    value instanceof StarlarkSet ||
    value instanceof Range
  ) {
    return (value.elements(thread) ?? []).map(inner);
  }
  throw new EvaluationError(`cannot convert a ${typeName(value)} to JavaScript`);
}
