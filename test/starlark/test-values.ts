import {
  type BinaryOperator,
  Builtin,
  EvaluationError,
  HeapValue,
  type Key,
  List,
  type ReprWriter,
  Struct,
  type Value,
} from '@krmhub/starlark';
import { suggest } from '@krmhub/starlark/values/spelling';

/** A value whose fields can be set, with `list + value`: the tests of starlark-go have it (`eval_test.go`). */
class HasFields extends HeapValue {
  readonly #fields = new Map<string, Value>();
  #frozen = false;

  override get typeName(): string {
    return 'hasfields';
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('hasfields');
  }

  override hashKey(): Key {
    return this;
  }

  override attribute(name: string): Value | undefined {
    return this.#fields.get(name);
  }

  override attributeNames(): readonly string[] {
    return [...this.#fields.keys()].sort();
  }

  override setAttribute(name: string, value: Value): boolean {
    if (this.#frozen) throw new EvaluationError('cannot set field on a frozen hasfields');
    if (name.startsWith('no')) {
      throw new EvaluationError(`no .${name} field${suggest(name, this.attributeNames(), '.')}`);
    }
    this.#fields.set(name, value);
    return true;
  }

  override freezeInto(queue: Value[]): void {
    if (this.#frozen) return;
    this.#frozen = true;
    queue.push(...this.#fields.values());
  }

  override binary(operator: BinaryOperator, other: Value): Value | undefined {
    return operator === '+' && other instanceof List ? 42 : undefined;
  }
}

/** The Fibonacci numbers, without end. */
class Fibonacci extends HeapValue {
  override get typeName(): string {
    return 'fib';
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write('fib');
  }

  override hashKey(): Key {
    throw new EvaluationError('fib is unhashable');
  }

  override *iterator(): Generator<Value> {
    for (let [x, y] = [0, 1]; ; [x, y] = [y, x + y]) yield x;
  }
}

/** What the tests of starlark-go find without `load`. */
export const TEST_VALUES: ReadonlyMap<string, Value> = new Map<string, Value>([
  [
    'hasfields',
    new Builtin('hasfields', (_, args, kwargs) => {
      if (args.length + kwargs.length > 0) throw new EvaluationError('hasfields: unexpected arguments');
      return new HasFields();
    }),
  ],
  ['fibonacci', new Fibonacci()],
  ['struct', new Builtin('struct', (_, __, kwargs) => new Struct('struct', kwargs))],
]);
