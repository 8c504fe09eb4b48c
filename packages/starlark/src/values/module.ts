import { EvaluationError } from './evaluation-error.js';
import { HeapValue, type Key, type ReprWriter, type Value } from './value.js';

/** A named collection of functions and constants, like `json`. */
export class Module extends HeapValue {
  readonly #members: ReadonlyMap<string, Value>;

  constructor(
    readonly name: string,
    members: Iterable<readonly [string, Value]>,
  ) {
    super();
    this.#members = new Map(members);
  }

  override get typeName(): string {
    return 'module';
  }

  override attribute(name: string): Value | undefined {
    return this.#members.get(name);
  }

  override attributeNames(): readonly string[] {
    return [...this.#members.keys()].sort();
  }

  override hashKey(): Key {
    throw new EvaluationError('unhashable: module');
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`<module ${JSON.stringify(this.name)}>`);
  }

  override freezeInto(queue: Value[]): void {
    for (const value of this.#members.values()) if (value instanceof HeapValue) queue.push(value);
  }
}
