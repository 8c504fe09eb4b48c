import { equals } from './equality.js';
import { EvaluationError } from './evaluation-error.js';
import { FirstKey } from './first-key.js';
import { HashTable } from './hash-table.js';
import { valueKey } from './key.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** A dict in insertion order. Keys are compared by value: `1` and `1.0` are the same key. */
export class Dict extends HashTable {
  readonly #values = new Map<Key, Value>();
  /** The keys as inserted, where they are not their own map key: floats, tuples, bytes. */
  #originals: Map<Key, Value> | undefined;
  #first: FirstKey<Key> | undefined;

  override get typeName(): string {
    return 'dict';
  }

  override get size(): number {
    return this.#values.size;
  }

  /** Returns the value of a key or `undefined`. Throws if the key is not hashable. */
  get(key: Value, thread?: Thread): Value | undefined {
    return this.#values.get(valueKey(key, thread));
  }

  has(key: Value, thread?: Thread): boolean {
    return this.#values.has(valueKey(key, thread));
  }

  /** Sets without the check for frozen and iterated dicts. An existing key keeps its place. */
  set(key: Value, value: Value, thread?: Thread): void {
    const mapKey = valueKey(key, thread);
    if (mapKey !== key && !this.#values.has(mapKey)) {
      this.#originals ??= new Map();
      this.#originals.set(mapKey, key);
    }
    this.#values.set(mapKey, value);
  }

  /** Deletes without the check for frozen and iterated dicts. Returns the value that the key had. */
  delete(key: Value, thread?: Thread): Value | undefined {
    const mapKey = valueKey(key, thread);
    const value = this.#values.get(mapKey);
    if (value === undefined) return undefined;
    this.#values.delete(mapKey);
    this.#originals?.delete(mapKey);
    this.#first?.deleted(mapKey);
    return value;
  }

  clear(): void {
    this.#values.clear();
    this.#originals = undefined;
    this.#first?.cleared();
  }

  /** Returns the first key as inserted, or undefined for an empty dict. */
  firstKey(): Value | undefined {
    this.#first ??= new FirstKey();
    const found = this.#first.of(this.#values);
    return found === undefined ? undefined : (this.#originals?.get(found.key) ?? found.key);
  }

  /** Returns the keys as inserted. */
  keys(): Value[] {
    const keys = [...this.#values.keys()];
    if (this.#originals === undefined) return keys;
    for (let i = 0; i < keys.length; i++) keys[i] = this.#originals.get(keys[i]!) ?? keys[i]!;
    return keys;
  }

  values(): Value[] {
    return [...this.#values.values()];
  }

  /** Calls `visit` with each entry in order. */
  forEach(visit: (key: Value, value: Value) => void): void {
    for (const [mapKey, value] of this.#values) visit(this.#originals?.get(mapKey) ?? mapKey, value);
  }

  override elements(): readonly Value[] {
    return this.keys();
  }

  /** A value that is not hashable is never a key. */
  override contains(element: Value, thread: Thread | undefined): boolean {
    if (!(element instanceof HeapValue)) return this.has(element, thread);
    try {
      return this.has(element, thread);
    } catch (error) {
      if (error instanceof EvaluationError && error.limit === undefined) return false;
      throw error;
    }
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('{');
    writer.writeInside(this, () => {
      let first = true;
      this.forEach((key, value) => {
        if (!first) writer.write(', ');
        first = false;
        writer.writeValue(key);
        writer.write(': ');
        writer.writeValue(value);
      });
    });
    writer.write('}');
  }

  override equalTo(other: HeapValue, thread: Thread | undefined, depth: number): boolean {
    const otherValues = (other as Dict).#values;
    if (this.#values.size !== otherValues.size) return false;
    thread?.step(this.#values.size);
    for (const [key, value] of this.#values) {
      const otherValue = otherValues.get(key);
      if (otherValue === undefined || !equals(value, otherValue, thread, depth)) return false;
    }
    return true;
  }

  override freezeInto(queue: Value[]): void {
    if (this.frozen) return;
    this.frozen = true;
    for (const value of this.#values.values()) if (value instanceof HeapValue) queue.push(value);
    for (const key of this.keys()) if (key instanceof HeapValue) queue.push(key);
  }
}
