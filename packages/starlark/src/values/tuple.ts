import { compositeKey } from './key-text.js';
import { Sequence } from './sequence.js';
import type { Thread } from './thread.js';
import type { Key, ReprWriter, Value } from './value.js';

/** A tuple: immutable, but its elements may be mutable. */
export class Tuple extends Sequence<readonly Value[]> {
  override get typeName(): string {
    return 'tuple';
  }

  protected override of(items: Value[]): Tuple {
    return new Tuple(items);
  }

  override hashKey(thread?: Thread): Key {
    return compositeKey('t', this.items, thread);
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('(');
    writer.writeValues(this.items);
    writer.write(this.items.length === 1 ? ',)' : ')');
  }
}

export const EMPTY_TUPLE = new Tuple([]);
