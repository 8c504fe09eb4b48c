import { EvaluationError } from './evaluation-error.js';
import { Sequence } from './sequence.js';
import type { ReprWriter, Value } from './value.js';

/** A list. Call `checkMutable` before changing `items`. */
export class List extends Sequence<Value[]> {
  /** Iterations that run now; the list cannot be changed meanwhile. */
  iterators = 0;

  constructor(items: Value[] = []) {
    super(items);
  }

  override get typeName(): string {
    return 'list';
  }

  protected override of(items: Value[]): List {
    return new List(items);
  }

  /** Throws if the list is frozen or iterated; `verb` is for the message: `append to`. */
  checkMutable(verb: string): void {
    if (this.frozen) throw new EvaluationError(`cannot ${verb} frozen list`);
    if (this.iterators > 0) throw new EvaluationError(`cannot ${verb} list during iteration`);
  }

  override countIterators(change: 1 | -1): void {
    this.iterators += change;
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('[');
    writer.writeInside(this, () => writer.writeValues(this.items));
    writer.write(']');
  }
}
