import { bindArguments } from './bind-arguments.js';
import type { FunctionCode } from './function-code.js';
import type { Thread } from './thread.js';
import { HeapValue, type Key, type Kwargs, type ReprWriter, type Value } from './value.js';

/** Arguments in the order of the parameters, then the tuple of `*args`, then the dict of `**kwargs`. */
export type FunctionBody = (thread: Thread, ...args: Value[]) => Value;

/** A function that a program defines. */
export class StarlarkFunction extends HeapValue {
  /** The number of positional arguments with which a call needs no binding, or -1. */
  readonly arity: number;
  #frozen = false;

  /** `defaults` has an entry for each of `code.parameters`; `undefined` where the argument is required. */
  constructor(
    readonly code: FunctionCode,
    readonly body: FunctionBody,
    readonly defaults: readonly (Value | undefined)[],
    /** The values that freezing the function freezes: the globals and variables that it can reach. */
    readonly reachable: () => readonly Value[],
  ) {
    super();
    const plain = !code.hasVarargs && !code.hasKwargs && code.keywordOnly === 0;
    this.arity = plain ? code.parameters.length : -1;
  }

  get name(): string {
    return this.code.name;
  }

  override get typeName(): string {
    return 'function';
  }

  override hashKey(): Key {
    return this;
  }

  override writeRepr(writer: ReprWriter): void {
    writer.write(`<function ${this.code.name}>`);
  }

  override get callable(): boolean {
    return true;
  }

  override call(thread: Thread, args: readonly Value[], kwargs: Kwargs): Value {
    const bound = bindArguments(this.code, this.defaults, args, kwargs);
    enterCall(thread, this.code);
    const result = this.body(thread, ...bound);
    leaveCall(thread, this.code);
    return result;
  }

  override freezeInto(queue: Value[]): void {
    if (this.#frozen) return;
    this.#frozen = true;
    for (const value of this.defaults) if (value instanceof HeapValue) queue.push(value);
    queue.push(...this.reachable());
  }
}

/** Starts a call: counts depth, and refuses recursion where it is not allowed. */
export function enterCall(thread: Thread, code: FunctionCode): void {
  if (thread.depth >= thread.limits.maxDepth) thread.overflow();
  if (!code.recursion) {
    if (code.active) thread.recursion(code.name);
    code.active = true;
  }
  thread.depth++;
}

/** Ends a call. A call that fails is ended by its own body, which also adds the stack frame. */
export function leaveCall(thread: Thread, code: FunctionCode): void {
  thread.depth--;
  code.active = false;
}
