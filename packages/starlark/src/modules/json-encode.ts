import { allocateString } from '../builtins/byte-string.js';
import { Dict } from '../values/dict.js';
import { EvaluationError } from '../values/evaluation-error.js';
import { StarlarkFloat } from '../values/float.js';
import { repr } from '../values/repr.js';
import { compareStrings } from '../values/string.js';
import type { Thread } from '../values/thread.js';
import { type HeapValue, typeName, type Value } from '../values/value.js';

/** Deeper values are errors, far below the depth at which JavaScript's own stack ends. */
export const MAX_JSON_DEPTH = 500;
/** Steps that a list, a dict, or a value with fields takes. */
const COMPOUND_STEPS = 50;
/** Characters that are counted at once. */
const COUNTED_TOGETHER = 4096;

/**
 * Returns the JSON of a value on one line, with sorted keys: None, bools, numbers, strings, dicts with string keys,
 * iterables, and values with fields. Throws an error with the path for other values, for cycles, and for floats that
 * are not finite.
 */
export function encodeJson(name: string, value: Value, thread: Thread): string {
  return new JsonEncoder(name, thread).encode(value);
}

class JsonEncoder {
  private text = '';
  /** The values that are being written, from the outside, and the key or index of each one's part. */
  private readonly open = new Set<HeapValue>();
  private readonly keys: (string | number)[] = [];
  /** Characters that were not counted yet. */
  private uncounted = 0;

  constructor(
    private readonly name: string,
    private readonly thread: Thread,
  ) {}

  encode(value: Value): string {
    this.write(value);
    this.count();
    return this.text;
  }

  private write(value: Value): void {
    this.thread.step(1);
    if (value === null) this.append('null');
    else if (typeof value === 'boolean') this.append(String(value));
    else if (typeof value === 'number') this.append(String(value));
    else if (typeof value === 'string') this.append(quoteJson(value));
    else if (typeof value === 'bigint') this.append(repr(value, this.thread));
    else if (value instanceof StarlarkFloat) this.append(this.float(value));
    else this.compound(value);
  }

  private append(text: string): void {
    this.uncounted += text.length;
    if (this.uncounted > COUNTED_TOGETHER) this.count();
    this.text += text;
  }

  private count(): void {
    allocateString(this.thread, this.uncounted);
    this.uncounted = 0;
  }

  private float(value: StarlarkFloat): string {
    if (Number.isFinite(value.value)) return repr(value, this.thread);
    throw this.error(`cannot encode non-finite float ${repr(value, this.thread)}`);
  }

  private compound(value: HeapValue): void {
    this.thread.step(COMPOUND_STEPS);
    if (this.open.has(value)) throw this.error('cycle in JSON structure');
    if (this.keys.length >= MAX_JSON_DEPTH) {
      throw new EvaluationError(`${this.name}: value is nested too deeply: the limit is ${MAX_JSON_DEPTH}`);
    }
    this.open.add(value);
    const elements = value instanceof Dict ? undefined : value.elements(this.thread);
    if (value instanceof Dict) this.dict(value);
    else if (elements !== undefined) this.array(elements);
    else if (value.attributeNames().length > 0 || value.typeName === 'struct') this.fields(value);
    else throw this.error(`cannot encode ${typeName(value)} as JSON`);
    this.open.delete(value);
  }

  private dict(dict: Dict): void {
    this.thread.step(dict.size * (1 + Math.log2(dict.size + 1)));
    this.thread.allocate(dict.size * 16);
    const keys = dict.keys().map((key) => {
      if (typeof key === 'string') return key;
      throw this.error(`dict has ${typeName(key)} key, want string`);
    });
    this.object(keys.sort(compareStrings).map((key) => [key, dict.get(key) as Value] as const));
  }

  private fields(value: HeapValue): void {
    const names = [...value.attributeNames()].sort(compareStrings);
    this.object(names.map((name) => [name, value.attribute(name) as Value] as const));
  }

  private object(entries: readonly (readonly [string, Value])[]): void {
    let before = '{';
    for (const [key, value] of entries) {
      this.append(`${before}${quoteJson(key)}:`);
      this.inside(value, key);
      before = ',';
    }
    this.append(before === '{' ? '{}' : '}');
  }

  private array(elements: readonly Value[]): void {
    let before = '[';
    for (const [index, element] of elements.entries()) {
      this.append(before);
      this.inside(element, index);
      before = ',';
    }
    this.append(before === '[' ? '[]' : ']');
  }

  private inside(value: Value, key: string | number): void {
    this.keys.push(key);
    this.write(value);
    this.keys.pop();
  }

  /** Puts the path to the value before a problem. */
  private error(problem: string): EvaluationError {
    const path = [...this.open].slice(0, this.keys.length).map((container, depth) => {
      const key = this.keys[depth] as string | number;
      if (typeof key === 'number') return `at ${container.typeName} index ${key}`;
      return container instanceof Dict ? `in dict key ${repr(key, this.thread)}` : `in field .${key}`;
    });
    return new EvaluationError([this.name, ...path, problem].join(': '));
  }
}

/**
 * Returns a JSON string. One that is not printable ASCII is escaped as Go's encoding/json does: also the special
 * characters of HTML, and each byte that is not valid UTF-8 as `\ufffd`.
 */
function quoteJson(text: string): string {
  if (/^[ !#-[\]-\x7f]*$/.test(text)) return `"${text}"`;
  const quoted = JSON.stringify(text);
  if (/^[\x20-\x7f]*$/.test(text)) return quoted;
  // JavaScript writes such a byte, a lone surrogate, as an escape.
  return quoted
    .replace(/\\(?:udc[89a-f][0-9a-f]|.)/g, (pair) => (pair.startsWith('\\udc') ? '\\ufffd' : pair))
    .replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
