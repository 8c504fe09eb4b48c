import { equals } from './equality.js';
import { compositeKey } from './key-text.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** An immutable record with named fields, made by `struct(a = 1)`. */
export class Struct extends HeapValue {
  /** Sorted by name. */
  readonly #fields: ReadonlyMap<string, Value>;
  #frozen = false;

  /** `constructorName` is what `repr` shows. */
  constructor(
    readonly constructorName: string,
    fields: Iterable<readonly [string, Value]>,
  ) {
    super();
    this.#fields = new Map([...fields].sort(([x], [y]) => (x < y ? -1 : x > y ? 1 : 0)));
  }

  override get typeName(): string {
    return 'struct';
  }

  /** Returns the fields sorted by name. */
  fields(): (readonly [string, Value])[] {
    return [...this.#fields];
  }

  override attribute(name: string): Value | undefined {
    return this.#fields.get(name);
  }

  override attributeNames(): readonly string[] {
    return [...this.#fields.keys()];
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`${this.constructorName}(`);
    let first = true;
    for (const [name, value] of this.#fields) {
      writer.write(first ? `${name} = ` : `, ${name} = `);
      first = false;
      writer.writeValue(value);
    }
    writer.write(')');
  }

  override hashKey(thread?: Thread): Key {
    return compositeKey('x', this.fields().flat(), thread);
  }

  override equalTo(other: HeapValue, thread: Thread | undefined, depth: number): boolean {
    const { constructorName } = other as Struct;
    const otherFields = (other as Struct).#fields;
    if (this.constructorName !== constructorName || this.#fields.size !== otherFields.size) return false;
    for (const [name, value] of this.#fields) {
      const otherValue = otherFields.get(name);
      if (otherValue === undefined || !equals(value, otherValue, thread, depth)) return false;
    }
    return true;
  }

  override freezeInto(queue: Value[]): void {
    if (this.#frozen) return;
    this.#frozen = true;
    for (const value of this.#fields.values()) if (value instanceof HeapValue) queue.push(value);
  }
}
