import { FirstKey } from './first-key.js';
import { HashTable } from './hash-table.js';
import { valueKey } from './key.js';
import type { Thread } from './thread.js';
import { type ComparisonOperator, HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** A set in insertion order. */
export class StarlarkSet extends HashTable {
  /** The elements as inserted, by map key. */
  readonly #items = new Map<Key, Value>();
  #first: FirstKey<Key> | undefined;

  /** Returns a set of the elements. */
  static of(elements: Iterable<Value>, thread?: Thread): StarlarkSet {
    const set = new StarlarkSet();
    for (const element of elements) set.add(element, thread);
    return set;
  }

  override get typeName(): string {
    return 'set';
  }

  override get size(): number {
    return this.#items.size;
  }

  has(value: Value, thread?: Thread): boolean {
    return this.#items.has(valueKey(value, thread));
  }

  /** Adds without the check for frozen and iterated sets. An existing equal element stays. */
  add(value: Value, thread?: Thread): void {
    const key = valueKey(value, thread);
    if (!this.#items.has(key)) this.#items.set(key, value);
  }

  /** Deletes without the check for frozen and iterated sets. Reports whether it was there. */
  delete(value: Value, thread?: Thread): boolean {
    const key = valueKey(value, thread);
    this.#first?.deleted(key);
    return this.#items.delete(key);
  }

  clear(): void {
    this.#items.clear();
    this.#first?.cleared();
  }

  /** Returns the first element, or undefined for an empty set. */
  first(): Value | undefined {
    this.#first ??= new FirstKey();
    const found = this.#first.of(this.#items);
    return found === undefined ? undefined : this.#items.get(found.key);
  }

  /** Returns the elements as inserted. */
  items(): Value[] {
    return [...this.#items.values()];
  }

  /** Reports whether each element is in `other`. */
  isSubsetOf(other: StarlarkSet): boolean {
    if (this.size > other.size) return false;
    for (const key of this.#items.keys()) if (!other.#items.has(key)) return false;
    return true;
  }

  override elements(): readonly Value[] {
    return this.items();
  }

  override contains(element: Value, thread: Thread | undefined): boolean {
    return this.has(element, thread);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('set([');
    writer.writeValues(this.#items.values());
    writer.write('])');
  }

  override equalTo(other: HeapValue, thread: Thread | undefined): boolean {
    thread?.step(this.size);
    return this.size === (other as StarlarkSet).size && this.isSubsetOf(other as StarlarkSet);
  }

  /** Sets are ordered by inclusion, in part: the result answers the question of the operator, and no other. */
  override compareTo(
    other: HeapValue,
    thread: Thread | undefined,
    _depth: number,
    operator: ComparisonOperator,
  ): number {
    const isLess = operator === '<' || operator === '<=';
    const [inner, outer] = isLess ? [this, other as StarlarkSet] : [other as StarlarkSet, this];
    const isProper = operator === '<' || operator === '>';
    thread?.step(inner.size);
    const holds = inner.isSubsetOf(outer) && (!isProper || inner.size < outer.size);
    return (holds === isProper ? 1 : 0) * (operator === '<' || operator === '>=' ? -1 : 1);
  }

  override freezeInto(queue: Value[]): void {
    if (this.frozen) return;
    this.frozen = true;
    for (const item of this.#items.values()) if (item instanceof HeapValue) queue.push(item);
  }
}
