import { EvaluationError } from './evaluation-error.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type Kwargs, type ReprWriter, typeName, type Value } from './value.js';

/** The code of a built-in function. It may keep neither `args` nor `kwargs`. Errors are `EvaluationError`s. */
export type BuiltinBody = (thread: Thread, args: readonly Value[], kwargs: Kwargs) => Value;

/** The code of a built-in method. `name` is the method's, for messages. */
export type MethodBody<Receiver extends Value = Value> = (
  thread: Thread,
  receiver: Receiver,
  args: readonly Value[],
  kwargs: Kwargs,
) => Value;

/** The methods of a type, by name. */
export type MethodTable = ReadonlyMap<string, MethodBody>;

/** Returns a method table; the methods are only called with receivers of their type. */
export function methodTable<Receiver extends Value>(
  methods: readonly (readonly [string, MethodBody<Receiver>])[],
): MethodTable {
  return new Map(methods as unknown as readonly (readonly [string, MethodBody])[]);
}

/** Returns an error after noting in which built-in function it arose. */
export function failedIn(name: string, error: unknown): unknown {
  if (error instanceof EvaluationError && error.stackFrames.length === 0) error.builtin ??= name;
  return error;
}

/** Code of this package that scripts call by a name. */
abstract class BuiltinValue extends HeapValue {
  abstract readonly name: string;

  protected abstract run(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value;

  override get typeName(): string {
    return 'builtin_function_or_method';
  }

  override hashKey(): Key {
    return this;
  }

  override call(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
    try {
      return this.run(thread, args, kwargs);
    } catch (error) {
      throw failedIn(this.name, error);
    }
  }

  override get callable(): boolean {
    return true;
  }
}

/** A built-in function: `len`. */
export class Builtin extends BuiltinValue {
  constructor(
    readonly name: string,
    readonly body: BuiltinBody,
  ) {
    super();
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`<built-in function ${this.name}>`);
  }

  protected override run(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
    return this.body(thread, args, kwargs);
  }
}

/** A method bound to its receiver: `x.append`. */
export class BoundMethod extends BuiltinValue {
  constructor(
    readonly name: string,
    readonly receiver: Value,
    readonly body: MethodBody,
  ) {
    super();
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`<built-in method ${this.name} of ${typeName(this.receiver)} value>`);
  }

  protected override run(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
    return this.body(thread, this.receiver, args, kwargs);
  }

  override freezeInto(queue: Value[]): void {
    queue.push(this.receiver);
  }
}
