import { EvaluationError } from './evaluation-error.js';
import { HeapValue } from './value.js';

/** What dicts and sets have in common. Call `checkMutable` before changing one. */
export abstract class HashTable extends HeapValue {
  frozen = false;
  /** Iterations that run now; the table cannot be changed meanwhile. */
  iterators = 0;

  abstract get size(): number;

  /** Throws if the table is frozen or iterated; `verb` is for the message: `insert into`. */
  checkMutable(verb: string): void {
    if (this.frozen) throw new EvaluationError(`cannot ${verb} frozen hash table`);
    if (this.iterators > 0) throw new EvaluationError(`cannot ${verb} hash table during iteration`);
  }

  override countIterators(change: 1 | -1): void {
    this.iterators += change;
  }

  override truth(): boolean {
    return this.size > 0;
  }

  override length(): number {
    return this.size;
  }
}
